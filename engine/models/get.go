// Package models fetches models to this computer, and lists, verifies and removes those that
// are there: in the cache of the Hub's clients, and in the engine's own.
package models

import (
	"context"
	"sync"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/sdk"
)

// Getter fetches models. All fields but Report must be set.
type Getter struct {
	Fetcher func(ctx context.Context, source string, folders ...string) (sdk.Fetcher, error)
	Cache   func() (string, error) // the engine's own folder for what is downloaded
	Getenv  func(string) string    // of this computer: for the cache of the Hub's clients
	Report  event.Reporter
}

// Get makes the files of a model available in a folder of this computer. Events call the
// model by the given name. Errors are those of [fetch.Fetch].
func (g Getter) Get(ctx context.Context, name string, ref sdk.ModelRef) (fetch.Model, error) {
	var meter rateMeter
	o := fetch.Options{
		Progress: func(p fetch.Progress) {
			meter.see(p)
			g.Report.Send(Copied(p))
		},
		Notify: func(n hubcache.Notice) { g.Report.Send(noticeOf(name, n)) },
		Unreachable: func(revision string, why error) {
			g.Report.Send(event.ModelSourceUnreachable{Model: name, Revision: revision, Reason: why.Error()})
		},
	}
	if ref.Source == experiment.SourceFolder {
		o.Folders = []string{ref.Name}
	}
	var err error
	if o.CacheDir, err = g.Cache(); err != nil {
		return fetch.Model{}, err
	}
	if ref.Source == hubcache.Source { // other models need no home folder
		if o.HubCache, err = hubcache.Dir(g.Getenv); err != nil {
			return fetch.Model{}, err
		}
		o.Offline = hubcache.Offline(g.Getenv)
	}
	m, err := fetch.Fetch(ctx, g.lazy(ctx, ref.Source, o.Folders), ref, o)
	meter.keep(o.CacheDir, Host(ref, g.Getenv)) // also of a download that was broken off
	return m, err
}

// Copied is the event for the progress of a download.
func Copied(p fetch.Progress) event.Data {
	return event.Copied{Stage: event.StageModel, Bytes: p.Done, Total: p.Total, Rate: p.Rate, Left: p.Left.Seconds()}
}

// lazy is the fetcher of a source, which is opened when it is first asked: a model that is on
// this computer needs none.
func (g Getter) lazy(ctx context.Context, source string, folders []string) sdk.Fetcher {
	return lazyFetcher{sync.OnceValues(func() (sdk.Fetcher, error) { return g.Fetcher(ctx, source, folders...) })}
}

type lazyFetcher struct{ open func() (sdk.Fetcher, error) }

// Resolve implements [sdk.Fetcher].
func (l lazyFetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	f, err := l.open()
	if err != nil {
		return sdk.ResolvedModel{}, err
	}
	return f.Resolve(ctx, ref)
}

// Locate implements [sdk.Fetcher].
func (l lazyFetcher) Locate(ctx context.Context, file sdk.FileRef) (sdk.Location, error) {
	f, err := l.open()
	if err != nil {
		return sdk.Location{}, err
	}
	return f.Locate(ctx, file)
}

// noticeOf is the event for what the user should know of the cache of the Hub's clients.
func noticeOf(model string, n hubcache.Notice) event.Data {
	switch n.Kind {
	case hubcache.ReadOnly:
		return event.ModelCacheReadOnly{Model: model, Dir: n.Path}
	case hubcache.Copied:
		return event.ModelCacheCopied{Model: model, Dir: n.Path, Bytes: n.Bytes}
	}
	return event.ModelFileMismatch{Model: model, Path: n.Path}
}

// Get asks an address with the credentials of a fetcher that has some; see [fetch.Getter].
func (l lazyFetcher) Get(ctx context.Context, url string) (status int, body []byte, err error) {
	f, err := l.open()
	if err != nil {
		return 0, nil, err
	}
	return fetch.Get(ctx, f, url)
}
