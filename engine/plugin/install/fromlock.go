package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/plugin/store"
)

// FromLock plans what a lock names, by id. A plugin that is in the store is taken from
// there, and nobody is asked for it; each must be what the lock says. Somebody else's
// lock is no grant: a plan may need one.
func (i Installer) FromLock(ctx context.Context, l *store.Lock) ([]*Plan, error) {
	policy, err := i.Store.Policy()
	if err != nil {
		return nil, err
	}
	var plans []*Plan
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(l.Plugins)) {
		p, err := i.fromLock(ctx, l.Dir, id, l.Plugins[id], policy)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", l.File(), id, l.Plugins[id].Version, err))
			continue
		}
		plans = append(plans, p)
	}
	return plans, errors.Join(errs...)
}

func (i Installer) fromLock(ctx context.Context, dir, id string, want store.Locked, policy store.Policy) (*Plan, error) {
	b, from, err := i.obtain(ctx, dir, id, want, policy)
	if err != nil {
		return nil, err
	}
	from.Reference = want.Reference
	p := &Plan{Origin: from, Locked: true, bundle: b}
	if b.ID != id || b.Digest() != want.Digest {
		return nil, fmt.Errorf("the lock says digest %s, and %s now gives %s %s with digest %s", want.Digest, want.Reference, b.ID, b.Version, b.Digest())
	}
	if err := i.examine(p, policy); err != nil {
		return nil, err
	}
	if got := p.locked(); !p.unlooked || want.Signer == "" {
		err = want.Check(id, got)
	} else {
		got.Signer = want.Signer // the policy wants no look
		err = want.Check(id, got)
	}
	if err != nil {
		return nil, err
	}
	return p, i.compare(p)
}

// obtain takes a bundle from the store, or else from where the lock says, and there the
// very same one.
func (i Installer) obtain(ctx context.Context, dir, id string, want store.Locked, policy store.Policy) (bundle.Bundle, bundle.Origin, error) {
	if _, err := i.Store.Locked(id, want); err == nil {
		if stored, err := i.Store.Get(want.Digest); err == nil {
			return stored.Bundle, stored.Origin, nil
		}
	}
	ref := want.Reference
	place, err := oci.Resolve(ref)
	if err != nil {
		return bundle.Bundle{}, bundle.Origin{}, err
	}
	switch {
	case place.Kind == oci.File && !filepath.IsAbs(ref):
		ref = filepath.Join(dir, filepath.FromSlash(ref))
	case place.Kind == oci.Registry && want.OCI != "":
		if ref, err = oci.Pinned(ref, want.OCI); err != nil {
			return bundle.Bundle{}, bundle.Origin{}, err
		}
	}
	if ref, err = allowed(policy, ref); err != nil {
		return bundle.Bundle{}, bundle.Origin{}, err
	}
	return i.Source.Fetch(ctx, ref)
}
