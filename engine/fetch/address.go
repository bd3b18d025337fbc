package fetch

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// transfer is how all downloads are done.
func (o Options) transfer() transfer.Options {
	t := transfer.Options{Client: o.Client, Files: o.Parallel, Stall: o.Stall}
	if o.Progress != nil {
		t.Progress = func(p transfer.Progress) { o.Progress(p.Done, p.Total) }
	}
	return t
}

// address asks the fetcher where a file is now.
func (s source) address(ctx context.Context, path string) (transfer.Source, error) {
	var f sdk.ModelFile
	for _, known := range s.model.Files {
		if known.Path == path {
			f = known
		}
	}
	at, err := s.locate(ctx, f)
	if err != nil {
		return transfer.Source{}, err
	}
	if at.Scheme == "file" {
		return transfer.Source{}, s.refuse("%s is said to be on this computer, and other files are not", f.Path)
	}
	src, err := transfer.Located(at.Location, f.Size, time.Now())
	if err != nil {
		return src, s.refuse("%s: %v", f.Path, err)
	}
	return src, nil
}

// fromHub stores a model of the Hub where the Hub's own clients find it.
func (s source) fromHub(ctx context.Context, ref sdk.ModelRef, o Options) (string, error) {
	if o.CacheDir == "" {
		return "", errNoCache
	}
	cache := hubcache.Cache{Dir: o.HubCache, Own: o.CacheDir}
	return cache.Store(ctx, hubcache.Request{
		Name: ref.Name, Canonical: s.model.Name, Revision: ref.Revision, Commit: s.model.Revision, Files: s.model.Files,
		Others: s.model.Omitted, Part: s.part,
		Locate: s.address, Transfer: o.transfer(), Notify: o.Notify,
	})
}
