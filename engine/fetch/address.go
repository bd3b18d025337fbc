package fetch

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// transfer is how all downloads are done.
func (o Options) transfer() transfer.Options {
	return transfer.Options{Client: o.Client, Files: o.Parallel, Stall: o.Stall, Progress: o.Progress}
}

// address asks the fetcher where a file is now, and decides from where it is read.
func (s source) address(ctx context.Context, path string) (transfer.Source, error) {
	return s.addressBeside(ctx, path, nil)
}

// addressBeside does so where another revision of the file may be on this computer.
func (s source) addressBeside(ctx context.Context, path string, earlier earlier) (transfer.Source, error) {
	f, at, err := s.elsewhere(ctx, path)
	if err != nil {
		return transfer.Source{}, err
	}
	via, copies, _ := s.viaXet(ctx, f, at, earlier)
	src, err := s.located(f, via)
	src.Copies = copies
	return src, err
}

// plainAddress is where any part of a file can be read.
func (s source) plainAddress(ctx context.Context, path string) (transfer.Source, error) {
	f, at, err := s.elsewhere(ctx, path)
	if err != nil {
		return transfer.Source{}, err
	}
	return s.located(f, at)
}

func (s source) located(f sdk.ModelFile, at sdk.Location) (transfer.Source, error) {
	src, err := transfer.Located(at, f.Size, time.Now())
	if err != nil {
		return src, s.refuse("%s: %v", f.Path, err)
	}
	return src, nil
}

// elsewhere is where a file is that is not on this computer.
func (s source) elsewhere(ctx context.Context, path string) (sdk.ModelFile, sdk.Location, error) {
	f := s.file(path)
	if at, ok := s.direct(f); ok {
		return f, at, nil
	}
	at, err := s.locate(ctx, f)
	if err == nil && at.Scheme == "file" {
		err = s.refuse("%s is said to be on this computer, and other files are not", f.Path)
	}
	return f, at.Location, err
}

// direct is where a file is that the fetcher need not be asked for: there may be thousands.
// Each file is found once: where it is looked for again, the fetcher is asked.
func (s source) direct(f sdk.ModelFile) (at sdk.Location, ok bool) {
	if s.base == "" || maybeXet(f) {
		return at, false
	}
	if _, before := s.based.LoadOrStore(f.Path, true); before {
		return at, false
	}
	parts := strings.Split(f.Path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return sdk.Location{URL: s.base + strings.Join(parts, "/")}, true
}

func (s source) file(path string) (f sdk.ModelFile) {
	for _, known := range s.model.Files {
		if known.Path == path {
			f = known
		}
	}
	return f
}

// fromHub stores a model of the Hub where the Hub's own clients find it.
func (s source) fromHub(ctx context.Context, ref sdk.ModelRef, o Options) (string, error) {
	if o.CacheDir == "" {
		return "", errNoCache
	}
	cache := hubcache.Cache{Dir: o.HubCache, Own: o.CacheDir}
	earlier := func(path string) (revision, file string, ok bool) {
		return cache.Earlier(s.model.Name, s.model.Revision, path)
	}
	return cache.Store(ctx, hubcache.Request{
		Name: ref.Name, Canonical: s.model.Name, Revision: ref.Revision, Commit: s.model.Revision, Files: s.model.Files,
		Others: s.model.Omitted, Part: s.part,
		Locate: func(ctx context.Context, path string) (transfer.Source, error) {
			return s.addressBeside(ctx, path, earlier)
		}, Transfer: o.transfer(), Notify: o.Notify,
	})
}
