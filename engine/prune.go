package engine

import (
	"context"
	"errors"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
)

// PruneOptions say what [Engine.Prune] removes.
type PruneOptions = cachegc.Options

// Prune removes what starts have made on this computer and nobody has used for long:
// layers of packages and repositories, unpacked images, saved systems, blinded copies of
// models. What a sandbox, a snapshot or another of them needs stays. It tells what it has
// removed, or would remove, also beside an error.
func (e *Engine) Prune(ctx context.Context, o PruneOptions) ([]machine.GCItem, error) {
	removed, err := e.collector().Prune(ctx, o)
	return asItems(removed), as(KindInternal, err)
}

func asItems(removed []cachegc.Removed) (items []machine.GCItem) {
	for _, r := range removed {
		items = append(items, machine.GCItem{Provider: localName, Handle: r.Name, Bytes: r.Bytes, Why: r.Why})
	}
	return items
}

// collector has the owners of all folders of the cache that can be pruned.
func (e *Engine) collector() *cachegc.Collector {
	images := func(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
		dir, err := e.store.Cache("images")
		if err != nil {
			return nil, err
		}
		return image.Cached(dir).Items(ctx, refs)
	}
	c := &cachegc.Collector{Store: e.store, Now: e.now, Logger: e.log, References: e.references}
	c.Sources = append(e.builder.Sources(), e.copies, cachegc.SourceFunc(images))
	c.Partials = []cachegc.Partials{e.builder.Partials(), e.copies.Partials()}
	return c
}

// references are what sandboxes and snapshots need of the cache.
func (e *Engine) references(ctx context.Context) (*cachegc.References, error) {
	refs := &cachegc.References{}
	records, err := e.ledger.List()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if !r.Live() {
			continue
		}
		refs.Add(build.RefLayer, session.StateOf(r).Layer)
		for _, m := range r.Models {
			refs.Add(blinding.RefCopy, m.Local)
		}
		// What it uses may have been made long before the machine was.
		if begun := r.CreatedAt.Add(-build.Timeout); refs.Since.IsZero() || begun.Before(refs.Since) {
			refs.Since = begun
		}
	}
	store, err := e.Snapshots()
	if err != nil && !errors.Is(err, errNoSnapshots) { // what they need is not known
		return nil, err
	}
	if err == nil {
		saved, err := store.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range saved {
			for _, key := range s.Layers {
				refs.Add(build.RefLayer, key)
			}
			if s.Kind == snapshot.Memory && s.Created.After(refs.Until) {
				refs.Until = s.Created
			}
		}
	}
	dir, err := e.store.Dir(localName)
	if err != nil {
		return nil, err
	}
	trees, digests, err := local.ReferencedImages(dir)
	if err != nil {
		return nil, err
	}
	for _, tree := range trees {
		refs.Add(image.RefTree, tree)
	}
	for _, digest := range digests {
		refs.Add(image.RefDigest, digest)
	}
	return refs, nil
}
