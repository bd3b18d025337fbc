// Package cleanup removes what nobody needs any more: machines whose time is over, what
// killed programs have left of them, and what starts have made in the cache.
package cleanup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Cleaner removes what nobody needs. All fields must be set.
type Cleaner struct {
	Store     *state.Store
	Ledger    *machine.Ledger
	Driver    *machine.Driver
	Builder   *build.Builder
	Copies    blinding.Copies
	Snapshots func() (*snapshot.Store, error) // [snapshot.ErrNoFolder] = there are none
	// CheckProviders finds that there are providers of these names.
	CheckProviders func(ctx context.Context, names ...string) error
	Provider       func(ctx context.Context, name string) (sdk.Provider, error)
	Now            func() time.Time
	Logger         hclog.Logger
}

// GC ends sandboxes whose time is over and removes what crashes left behind: of the
// providers in the ledger and of this computer, or of the named providers only, whether the
// ledger knows them or not. What failed for one sandbox or provider is in the report.
func (c *Cleaner) GC(ctx context.Context, providers ...string) (machine.GCReport, error) {
	if err := c.CheckProviders(ctx, providers...); err != nil {
		return machine.GCReport{}, err
	}
	report, err := c.Driver.GC(ctx, machine.GCOptions{Only: providers, Also: []string{local.Name}})
	if err != nil {
		return report, errdefs.Wrap(errdefs.KindProvider, err)
	}
	removed, err := c.collector().SweepPartials(ctx)
	report.Cleaned = append(report.Cleaned, asItems(removed)...)
	if err := errors.Join(err, c.sweepRelays(), c.Store.SweepNotes(), c.sweepSnapshots(ctx), checkpoint.Sweep(c.Store)); err != nil {
		return report, errdefs.Wrap(errdefs.KindInternal, err)
	}
	if len(providers) > 0 && !slices.Contains(providers, local.Name) {
		return report, nil
	}
	dir, err := c.Store.Dir(local.Name)
	if err == nil {
		err = local.Sweep(dir, c.Store.RuntimeDir())
	}
	return report, errdefs.Wrap(errdefs.KindInternal, err)
}

// sweepRelays removes what the runs of ended sandboxes have left. A record that cannot be read,
// such as one of a newer Seer, may be of a live sandbox; [machine.Driver.GC] has reported it.
func (c *Cleaner) sweepRelays() error {
	return errors.Join(c.Store.SweepAgents(), c.Store.SweepRelays(func(id string) bool {
		r, err := c.Ledger.Get(id)
		var unknown *machine.NotFoundError
		return !errors.As(err, &unknown) && (err != nil || r.Live())
	}))
}

// sweepSnapshots removes what killed programs have left in the store.
func (c *Cleaner) sweepSnapshots(ctx context.Context) error {
	store, err := c.Snapshots()
	if errors.Is(err, snapshot.ErrNoFolder) {
		return nil
	}
	if err != nil {
		return err
	}
	return store.Sweep(ctx)
}

// Prune removes what starts have made on this computer and nobody has used for long: layers
// of packages and repositories, unpacked images, saved systems, blinded copies of models, and
// the views of models of the Hub. The cache of the Hub's own clients is the user's.
// What a sandbox, a snapshot or another of them needs stays. With Providers, it has those clean
// what Seer keeps on their backends instead; those of this computer are named local. It tells what
// it has removed, or would remove, also beside an error.
func (c *Cleaner) Prune(ctx context.Context, o cachegc.Options) (items []machine.GCItem, err error) {
	for _, name := range o.Providers {
		if name == local.Name {
			continue
		}
		cleaned, err := c.cleanBackend(ctx, name, o.DryRun)
		items = append(items, cleaned...)
		if err != nil {
			return items, errdefs.Wrap(errdefs.KindProvider, err)
		}
	}
	if len(o.Providers) > 0 && !slices.Contains(o.Providers, local.Name) {
		return items, nil
	}
	removed, err := c.collector().Prune(ctx, o)
	return append(items, asItems(removed)...), errdefs.Wrap(errdefs.KindInternal, err)
}

// cleanBackend has a provider remove what is kept on its backend for later machines. One that
// keeps nothing has nothing to remove.
func (c *Cleaner) cleanBackend(ctx context.Context, name string, dry bool) (items []machine.GCItem, err error) {
	p, err := c.Provider(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := p.Describe(ctx)
	cleaner, ok := p.(sdk.Cleaner)
	if err != nil || !ok || !info.Has(sdk.FeatureClean) {
		return nil, err
	}
	gone, err := cleaner.Clean(ctx, sdk.CleanInput{DryRun: dry})
	for _, one := range gone {
		items = append(items, machine.GCItem{Provider: name, Handle: one.Name, Bytes: one.Bytes, Why: "nothing on the backend uses it"})
	}
	return items, err
}

// PruneDaily prunes once a day, in silence.
func (c *Cleaner) PruneDaily(ctx context.Context) { c.collector().PruneDaily(ctx) }

func asItems(removed []cachegc.Removed) (items []machine.GCItem) {
	for _, r := range removed {
		items = append(items, machine.GCItem{Provider: local.Name, Handle: r.Name, Bytes: r.Bytes, Why: r.Why})
	}
	return items
}

// collector has the owners of all folders of the cache that can be pruned.
func (c *Cleaner) collector() *cachegc.Collector {
	images := func(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
		dir, err := c.Store.Cache("images")
		if err != nil {
			return nil, err
		}
		return image.Cached(dir).Items(ctx, refs)
	}
	views := func(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
		dir, err := c.Store.Cache("models")
		if err != nil {
			return nil, err
		}
		return hubcache.Views(dir).Items(ctx, refs)
	}
	outlines := func(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
		dir, err := c.Store.Cache("outlines")
		if err != nil {
			return nil, err
		}
		return fetch.Outlines(dir).Items(ctx, refs)
	}
	return &cachegc.Collector{
		Store: c.Store, Now: c.Now, Logger: c.Logger, References: c.References,
		Sources:  append(c.Builder.Sources(), c.Copies, cachegc.SourceFunc(images), cachegc.SourceFunc(views), cachegc.SourceFunc(outlines)),
		Partials: []cachegc.Partials{c.Builder.Partials(), c.Copies.Partials()},
	}
}
