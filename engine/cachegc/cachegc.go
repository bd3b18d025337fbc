// Package cachegc removes from the cache what nobody needs: it asks the owner of each
// folder what is there, keeps what sandboxes, snapshots and other things in the cache
// refer to, and removes what was not used for long.
package cachegc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
)

const (
	unusedFor  = 30 * 24 * time.Hour // what was not used for so long goes
	atLeast    = 24 * time.Hour      // what was used since stays, whatever its size
	dailyLimit = 5 * time.Second     // a start takes no longer for it
	sweptName  = "swept"             // file of the cache whose time is when it was swept last
)

// PartialSuffix ends the name of what is being made or removed, or was when whoever did so
// was killed.
const PartialSuffix = ".partial"

// Options say what [Collector.Prune] removes.
type Options struct {
	Unused   time.Duration // what was not used for so long goes; 0 = 30 days
	MaxBytes int64         // of everything together: what was used longest ago goes first, but nothing of the last day; 0 = any
	DryRun   bool          // only tell

	// Providers are those whose backends are cleaned. Empty = only this computer is. A Collector
	// does not heed it.
	Providers []string
}

// Removed is what was removed, or would be.
type Removed struct {
	Name  string // for people; of a partial thing, that of its file
	Bytes int64  // 0 = not known
	Why   string
}

// Item is one thing that starts have made on this computer, to have it the next time.
type Item struct {
	Kind   string // as people are told
	Name   string // what distinguishes it, for people
	Bytes  int64
	Last   time.Time // when it was used last
	Made   time.Time
	Needed bool   // by a sandbox, a snapshot or something else that stays
	Below  string // lock of the layer that this one stands upon; it stays as long as this one
	// Lock is held by whoever makes, uses or removes it; empty = Remove sees to it.
	Lock   string
	Fresh  func() (time.Time, error) // Last, asked again
	Remove func() error
}

// Source is the owner of a folder of the cache. Beside an error are the items that it has
// found in spite of it.
type Source interface {
	Items(context.Context, *References) ([]Item, error)
}

// SourceFunc is a function as a [Source].
type SourceFunc func(context.Context, *References) ([]Item, error)

// Items calls the function.
func (f SourceFunc) Items(ctx context.Context, r *References) ([]Item, error) { return f(ctx, r) }

// References are what sandboxes and snapshots refer to.
type References struct {
	// A sandbox that runs or is being started has used what it needs since it began, and saved
	// processes can need anything that was there when they were saved.
	Since time.Time // zero = nothing runs
	Until time.Time // zero = there are no saved processes

	keys map[[2]string]bool
}

// Add notes that something of that kind is needed. Kinds and keys are the owner's.
func (r *References) Add(kind, key string) {
	if r.keys == nil {
		r.keys = map[[2]string]bool{}
	}
	r.keys[[2]string{kind, key}] = true
}

// Has reports whether it is needed.
func (r *References) Has(kind, key string) bool { return r.keys[[2]string{kind, key}] }

// time reports whether something may be needed by when it was used or made.
func (r *References) time(i Item) bool {
	return !r.Since.IsZero() && !i.Last.Before(r.Since) || !i.Made.After(r.Until) && !r.Until.IsZero()
}

// Partials are a folder in which killed programs leave what they were making.
type Partials struct {
	Dir  string                   // in the cache
	What string                   // what such a thing is, for people
	Lock func(name string) string // the file in Dir that whoever is at work holds, for the name without its suffix
}

// Collector removes what nobody needs. All fields must be set.
type Collector struct {
	Store      *state.Store
	Now        func() time.Time
	Logger     hclog.Logger
	References func(context.Context) (*References, error)
	Sources    []Source
	Partials   []Partials
}

// items are all that can be removed, but for what is being made. Beside an error is what
// was found in spite of it.
func (c *Collector) items(ctx context.Context) ([]Item, error) {
	refs, err := c.References(ctx)
	if err != nil {
		return nil, err
	}
	var all []Item
	var errs []error
	for _, source := range c.Sources {
		found, err := source.Items(ctx, refs)
		all, errs = append(all, found...), append(errs, err)
	}
	for i := range all {
		all[i].Needed = all[i].Needed || refs.time(all[i])
	}
	return all, errors.Join(errs...)
}

// Prune removes what nobody has used for long, unless something refers to it. It returns
// what it has removed, or would remove, also beside an error.
func (c *Collector) Prune(ctx context.Context, o Options) ([]Removed, error) {
	o.Unused = cmp.Or(o.Unused, unusedFor)
	all, err := c.items(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	errs := []error{err}
	now := c.Now()
	slices.SortFunc(all, func(a, b Item) int { return a.Last.Compare(b.Last) })
	var total int64
	for _, i := range all {
		total += i.Bytes
	}
	var gone []Removed
	stays := map[string]bool{}
	for _, i := range all {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		age := now.Sub(i.Last)
		over := o.MaxBytes > 0 && total > o.MaxBytes && age > atLeast
		done := !i.Needed && !stays[i.Lock] && (age > o.Unused || over)
		if done && !o.DryRun {
			var err error
			done, err = i.discard()
			errs = append(errs, err)
		}
		if !done {
			stays[i.Below] = i.Below != ""
			continue
		}
		total -= i.Bytes
		gone = append(gone, Removed{Name: i.Kind + " " + i.Name, Bytes: i.Bytes,
			Why: fmt.Sprintf("not used for %s, %s", text.Plural(int(age/(24*time.Hour)), "day"), text.Bytes(i.Bytes))})
	}
	return gone, errors.Join(errs...)
}

// discard removes it, unless somebody has begun to use it or is at work on it.
func (i Item) discard() (bool, error) {
	if i.Lock != "" {
		lock, held, err := state.TryAcquire(i.Lock)
		if err != nil || held {
			return false, err
		}
		defer lock.Remove()
	}
	last, err := i.Fresh()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // somebody else has removed it
	}
	if err != nil || last.After(i.Last) {
		return false, err
	}
	return true, i.Remove()
}

// RemoveTree removes a folder as a whole: it loses its name first, so that whoever is killed
// meanwhile leaves what every sweep removes.
func RemoveTree(dir string) error {
	partial := dir + PartialSuffix
	if err := state.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Rename(dir, partial); err != nil {
		return err
	}
	return state.RemoveAll(partial)
}

// FolderName is the escaped name of the folder in which path is, such as that of a model.
func FolderName(path string) string {
	folder := filepath.Base(filepath.Dir(path))
	if name, err := url.PathUnescape(folder); err == nil {
		return name
	}
	return folder
}

// LastUse asks for the time of a file.
func LastUse(path string) func() (time.Time, error) {
	return func() (time.Time, error) {
		info, err := os.Lstat(path)
		if err != nil {
			return time.Time{}, err
		}
		return info.ModTime(), nil
	}
}

// PruneDaily prunes once a day, in silence: what cannot be removed now is tried tomorrow.
func (c *Collector) PruneDaily(ctx context.Context) {
	dir, err := c.Store.Cache()
	if err != nil {
		return
	}
	file := filepath.Join(dir, sweptName)
	if last, err := LastUse(file)(); err == nil && c.Now().Sub(last) < 24*time.Hour {
		return
	}
	now := c.Now()
	if state.WriteFile(file, nil, 0o600) != nil || os.Chtimes(file, now, now) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dailyLimit)
	defer cancel()
	_, err = c.Prune(ctx, Options{})
	if _, swept := c.SweepPartials(ctx); err != nil || swept != nil {
		c.Logger.Debug("pruning the cache", "error", errors.Join(err, swept))
	}
}

// SweepPartials removes what killed programs left unfinished, and returns what that was.
func (c *Collector) SweepPartials(ctx context.Context) (removed []Removed, err error) {
	forever := time.Unix(1<<40, 0)
	for _, p := range c.Partials {
		dir, err := c.Store.Cache(p.Dir)
		if err != nil {
			return removed, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return removed, err
		}
		for _, entry := range entries {
			if ctx.Err() != nil {
				return removed, context.Cause(ctx)
			}
			name, partial := strings.CutSuffix(entry.Name(), PartialSuffix)
			if !partial {
				continue
			}
			path, lock := filepath.Join(dir, entry.Name()), p.Lock(name)
			if _, err := c.Store.Cache(p.Dir, filepath.Dir(lock)); err != nil {
				return removed, err
			}
			left := Item{Lock: filepath.Join(dir, lock), Fresh: LastUse(path), Last: forever, Remove: func() error { return state.RemoveAll(path) }}
			done, err := left.discard()
			if err != nil {
				return removed, err
			}
			if done {
				removed = append(removed, Removed{Name: entry.Name(), Why: p.What})
			}
		}
	}
	return removed, nil
}

// Folders names the complete folders in one of the cache, and says where that is.
func Folders(store *state.Store, elem ...string) (dir string, names []string, err error) {
	if dir, err = store.Cache(elem...); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "locks" && !strings.HasSuffix(entry.Name(), PartialSuffix) {
			names = append(names, entry.Name())
		}
	}
	return dir, names, err
}
