// Package models fetches models to this computer, and lists, verifies and removes those that
// are there: in the cache of the Hub's clients, and in the engine's own.
package models

import (
	"context"

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
	var folders []string
	if ref.Source == experiment.SourceFolder {
		folders = []string{ref.Name}
	}
	fetcher, err := g.Fetcher(ctx, ref.Source, folders...)
	if err != nil {
		return fetch.Model{}, err
	}
	cache, err := g.Cache()
	if err != nil {
		return fetch.Model{}, err
	}
	hub := ""
	if ref.Source == hubcache.Source { // other models need no home folder
		if hub, err = hubcache.Dir(g.Getenv); err != nil {
			return fetch.Model{}, err
		}
	}
	return fetch.Fetch(ctx, fetcher, ref, fetch.Options{
		CacheDir: cache, HubCache: hub, Folders: folders,
		Progress: func(done, total int64) { g.Report.Copied(event.StageModel, done, total) },
		Notify:   func(n hubcache.Notice) { g.Report.Send(noticeOf(name, n)) },
	})
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
