package cleanup

import (
	"context"
	"errors"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
)

// References are what sandboxes and snapshots need of the cache.
func (c *Cleaner) References(ctx context.Context) (*cachegc.References, error) {
	refs := &cachegc.References{}
	if err := c.referenceSandboxes(refs); err != nil {
		return nil, err
	}
	if err := c.referenceSnapshots(ctx, refs); err != nil {
		return nil, err
	}
	return refs, c.referenceImages(refs)
}

func (c *Cleaner) referenceSandboxes(refs *cachegc.References) error {
	begun, beginErr := c.Ledger.Begun() // before the list: a start may get its record meanwhile
	refs.Since = begun
	records, err := c.Ledger.List()
	for _, r := range records {
		if !r.Live() {
			continue
		}
		refs.Add(build.RefLayer, session.StateOf(r).Layer)
		for _, m := range r.Models {
			refs.Add(blinding.RefCopy, m.Local)
			refs.Add(hubcache.RefView, m.Local)
		}
		// What it uses may have been made long before the machine was.
		if begun := r.CreatedAt.Add(-build.Timeout); refs.Since.IsZero() || begun.Before(refs.Since) {
			refs.Since = begun
		}
	}
	return errors.Join(beginErr, err)
}

func (c *Cleaner) referenceSnapshots(ctx context.Context, refs *cachegc.References) error {
	store, err := c.Snapshots()
	if errors.Is(err, snapshot.ErrNoFolder) {
		return nil
	}
	if err != nil { // what they need is not known
		return err
	}
	saved, err := store.List(ctx)
	for _, s := range saved {
		for _, key := range s.Layers {
			refs.Add(build.RefLayer, key)
		}
		if s.Kind == snapshot.Memory && s.Created.After(refs.Until) {
			refs.Until = s.Created
		}
	}
	return err
}

// referenceImages adds what machines of this computer and saved systems stand upon.
func (c *Cleaner) referenceImages(refs *cachegc.References) error {
	dir, err := c.Store.Dir(local.Name)
	if err != nil {
		return err
	}
	trees, digests, err := local.ReferencedImages(dir)
	for _, tree := range trees {
		refs.Add(image.RefTree, tree)
	}
	for _, digest := range digests {
		refs.Add(image.RefDigest, digest)
	}
	return err
}
