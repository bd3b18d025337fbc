package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/state"
)

const (
	unusedFor  = 30 * 24 * time.Hour // what was not used for so long goes
	atLeast    = 24 * time.Hour      // what was used since stays, whatever its size
	dailyLimit = 5 * time.Second     // a start takes no longer for it
	sweptName  = "swept"             // file of the cache whose time is when it was swept last
)

// PruneOptions say what [Engine.Prune] removes.
type PruneOptions struct {
	Unused   time.Duration // what was not used for so long goes; 0 = 30 days
	MaxBytes int64         // of everything together: what was used longest ago goes first, but nothing of the last day; 0 = any
	DryRun   bool          // only tell
}

// kept is one thing that starts have made on this computer, to have it the next time.
type kept struct {
	kind   string // as people are told
	name   string // what distinguishes it, for people
	bytes  int64
	last   time.Time // when it was used last
	made   time.Time
	needed bool   // by a sandbox, a snapshot or something else that stays
	below  string // lock of the layer that this one stands upon; it stays as long as this one
	// lock is held by whoever makes, uses or removes it; empty = remove sees to it.
	lock   string
	fresh  func() (time.Time, error) // last, asked again
	remove func() error
}

// Prune removes what starts have made on this computer and nobody has used for long:
// layers of packages and repositories, unpacked images, saved systems, veiled copies of
// models. What a sandbox, a snapshot or another of them needs stays. It tells what it has
// removed, or would remove, also beside an error.
func (e *Engine) Prune(ctx context.Context, o PruneOptions) ([]machine.GCItem, error) {
	o.Unused = cmp.Or(o.Unused, unusedFor)
	all, err := e.everythingKept(ctx)
	if ctx.Err() != nil {
		return nil, as(KindInternal, context.Cause(ctx))
	}
	errs := []error{err}
	now := e.now()
	slices.SortFunc(all, func(a, b kept) int { return a.last.Compare(b.last) })
	var total int64
	for _, k := range all {
		total += k.bytes
	}
	var gone []machine.GCItem
	stays := map[string]bool{}
	for _, k := range all {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		age := now.Sub(k.last)
		over := o.MaxBytes > 0 && total > o.MaxBytes && age > atLeast
		done := !k.needed && !stays[k.lock] && (age > o.Unused || over)
		if done && !o.DryRun {
			var err error
			done, err = k.discard()
			errs = append(errs, err)
		}
		if !done {
			stays[k.below] = k.below != ""
			continue
		}
		total -= k.bytes
		gone = append(gone, machine.GCItem{Provider: localName, Handle: k.kind + " " + k.name, Bytes: k.bytes,
			Why: fmt.Sprintf("not used for %s, %s", countText(int(age/(24*time.Hour)), "day"), bytesText(k.bytes))})
	}
	return gone, as(KindInternal, errors.Join(errs...))
}

// discard removes it, unless somebody has begun to use it or is at work on it.
func (k kept) discard() (bool, error) {
	if k.lock != "" {
		lock, held, err := state.TryAcquire(k.lock)
		if err != nil || held {
			return false, err
		}
		defer lock.Remove()
	}
	last, err := k.fresh()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // somebody else has removed it
	}
	if err != nil || last.After(k.last) {
		return false, err
	}
	return true, k.remove()
}

// taken removes a folder as a whole: it loses its name first, so that whoever is killed
// meanwhile leaves what every sweep removes.
func taken(dir string) error {
	partial := dir + partialName
	if err := removeAll(partial); err != nil {
		return err
	}
	if err := os.Rename(dir, partial); err != nil {
		return err
	}
	return removeAll(partial)
}

// lastUse is the time of a file.
func lastUse(path string) func() (time.Time, error) {
	return func() (time.Time, error) {
		info, err := os.Lstat(path)
		if err != nil {
			return time.Time{}, err
		}
		return info.ModTime(), nil
	}
}

// pruneDaily prunes once a day, in silence: what cannot be removed now is tried tomorrow.
func (e *Engine) pruneDaily(ctx context.Context) {
	dir, err := e.store.Cache()
	if err != nil {
		return
	}
	file := filepath.Join(dir, sweptName)
	if last, err := lastUse(file)(); err == nil && e.now().Sub(last) < 24*time.Hour {
		return
	}
	now := e.now()
	if state.WriteFile(file, nil, 0o600) != nil || os.Chtimes(file, now, now) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dailyLimit)
	defer cancel()
	_, err = e.Prune(ctx, PruneOptions{})
	if _, swept := e.sweepPartials(ctx); err != nil || swept != nil {
		e.log.Debug("pruning the cache", "error", errors.Join(err, swept))
	}
}

// sweepPartials removes what killed programs left of layers and veiled copies, and tells
// what that was.
func (e *Engine) sweepPartials(ctx context.Context) (removed []machine.GCItem, err error) {
	if _, err := e.store.Cache(layersDir, "locks"); err != nil {
		return nil, err
	}
	forever := time.Unix(1<<40, 0)
	for _, kind := range []struct{ dir, what, lock string }{
		{layersDir, "a layer; its building was broken off", filepath.Join("locks", "%s")}, {veiledDir, "a veiled copy of a model; its making was broken off", "%s.lock"},
	} {
		dir, err := e.store.Cache(kind.dir)
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
			name, partial := strings.CutSuffix(entry.Name(), partialName)
			if !partial {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			left := kept{lock: filepath.Join(dir, fmt.Sprintf(kind.lock, strings.TrimSuffix(name, freshSuffix))), fresh: lastUse(path), last: forever, remove: func() error { return removeAll(path) }}
			done, err := left.discard()
			if err != nil {
				return removed, err
			}
			if done {
				removed = append(removed, machine.GCItem{Handle: entry.Name(), Provider: localName, Why: kind.what})
			}
		}
	}
	return removed, nil
}
