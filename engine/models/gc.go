package models

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/state"
)

const (
	// What was used within this time stays, also that of starts that the ledger does not show.
	settled   = time.Hour
	unusedFor = 30 * 24 * time.Hour
)

// GCOptions say what [Manager.GC] removes.
type GCOptions struct {
	Unused time.Duration // models in the engine's own cache that were not used for so long go; 0 = 30 days
	DryRun bool          // only tell
}

// GC removes what nobody needs: broken-off downloads of this engine; folders that sandboxes
// were shown, if none uses them; and models in the engine's own cache that were not used for
// long. Complete files in the cache of the Hub's clients are the user's and stay. It returns
// what it has removed, also beside an error.
func (m *Manager) GC(ctx context.Context, o GCOptions) ([]cachegc.Removed, error) {
	cache, err := m.cache()
	if err != nil {
		return nil, err
	}
	swept, err := cache.Sweep(ctx, o.DryRun)
	errs := []error{err}
	var gone []cachegc.Removed
	for _, left := range swept {
		gone = append(gone, cachegc.Removed{Name: left.Path, Bytes: left.Bytes, Why: "a download that was broken off"})
	}
	for _, pass := range []struct {
		why    string // empty = how long it was not used
		unused time.Duration
		source cachegc.Source
	}{
		{"no sandbox uses it", settled, hubcache.Views(cache.Own)},
		{"a download that was broken off", settled, ownItems{m, cache.Own, true}},
		{"", cmp.Or(o.Unused, unusedFor), ownItems{m, cache.Own, false}},
	} {
		c := cachegc.Collector{Now: m.Now, References: m.References, Sources: []cachegc.Source{pass.source}}
		removed, err := c.Prune(ctx, cachegc.Options{Unused: pass.unused, DryRun: o.DryRun})
		for _, r := range removed {
			r.Why = cmp.Or(pass.why, r.Why)
			gone = append(gone, r)
		}
		errs = append(errs, err)
	}
	if !o.DryRun {
		errs = append(errs, cache.SweepNotes(ctx), m.sweepManifests(ctx), fetch.SweepAnswers(cache.Own, m.Now().Add(-unusedFor)))
	}
	return gone, errors.Join(errs...)
}

// sweepManifests removes the manifests that no sandbox of the ledger has, nor a start that goes on.
func (m *Manager) sweepManifests(ctx context.Context) error {
	refs, err := m.References(ctx) // before the records: a start may get its own meanwhile
	if err != nil {
		return err
	}
	records, err := m.Records()
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, r := range records {
		for _, used := range r.Models {
			needed[used.Manifest] = true
		}
	}
	before := m.Now().Add(-settled)
	if !refs.Since.IsZero() && refs.Since.Before(before) {
		before = refs.Since
	}
	return m.Manifests.Sweep(needed, before)
}

// ownItems are what the engine's own cache has of sources other than the Hub, or of all
// sources what downloads have left.
type ownItems struct {
	manager *Manager
	own     string
	partial bool
}

// Items implements [cachegc.Source].
func (o ownItems) Items(ctx context.Context, _ *cachegc.References) ([]cachegc.Item, error) {
	users, err := o.manager.sandboxes()
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	err = eachOwn(o.own, func(source, name, dir string) error {
		paths, err := filepath.Glob(filepath.Join(globbed(dir), "*"))
		for _, path := range paths {
			revision, partial := strings.CutSuffix(filepath.Base(path), partialSuffix)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if partial != o.partial || strings.HasSuffix(path, ".lock") || !partial && source == hubcache.Source {
				continue
			}
			revision, _ = splitPart(revision)
			if plain, err := url.PathUnescape(revision); err == nil {
				revision = plain
			}
			last, err := cachegc.LastUse(path)()
			found, measureErr := measure(path)
			if err != nil || measureErr != nil {
				continue // it is being removed
			}
			all = append(all, cachegc.Item{
				Kind: "model", Name: Name(source, name), Bytes: found.alone, Last: last,
				Needed: !partial && len(users[source+" "+revision]) > 0,
				Lock:   strings.TrimSuffix(path, partialSuffix) + ".lock", Fresh: cachegc.LastUse(path),
				Remove: func() error { return state.RemoveAll(path) },
			})
		}
		return err
	})
	return all, err
}
