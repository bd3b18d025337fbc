package hubcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

// Sweep removes what broken-off downloads of this package have left in the Hub's cache, but
// for those that a process works on. What the Hub's clients have left stays. It returns what
// it has removed, also beside an error; dry, it only tells.
func (c Cache) Sweep(ctx context.Context, dry bool) (swept []Incomplete, err error) {
	all, err := c.List(ctx)
	errs := []error{err}
	for _, repo := range all {
		for _, left := range repo.Incomplete {
			if ctx.Err() != nil {
				return swept, errors.Join(append(errs, ctx.Err())...)
			}
			if !left.Own {
				continue
			}
			done, err := c.sweepOne(repo, strings.TrimSuffix(left.Path, working+".incomplete"), dry)
			errs = append(errs, err)
			if done {
				swept = append(swept, left)
			}
		}
	}
	return swept, errors.Join(errs...)
}

// sweepOne removes the working files of a blob unless a process works on it. Every process
// that downloads holds one of two locks: that of the Hub's clients, or that of its own file.
func (c Cache) sweepOne(repo Repo, blob string, dry bool) (bool, error) {
	hubs := filepath.Join(c.Dir, ".locks", filepath.Base(repo.Dir), filepath.Base(blob)+".lock")
	if _, err := os.Lstat(hubs); err == nil {
		lock, held, err := state.TryAcquire(hubs)
		if held || err != nil {
			return false, err
		}
		defer lock.Release()
	}
	lock, held, err := state.TryAcquire(blob + working + ".lock")
	if held || err != nil {
		return false, err
	}
	defer lock.Remove()
	if dry {
		return true, nil
	}
	files, err := filepath.Glob(globbed(blob+working) + ".incomplete*")
	for _, path := range files {
		err = errors.Join(err, removeFile(path))
	}
	return err == nil, err
}

// SweepNotes forgets what was remembered of files that are neither in the Hub's cache nor in
// a view.
func (c Cache) SweepNotes(ctx context.Context) error {
	there := map[[2]uint64]bool{}
	see := func(path string, d fs.DirEntry) error {
		var st unix.Stat_t
		if !d.IsDir() && unix.Stat(path, &st) == nil {
			there[[2]uint64{uint64(st.Dev), st.Ino}] = true //nolint:unconvert // 32 bits on macOS
		}
		return ctx.Err()
	}
	for _, dir := range []string{c.Dir, filepath.Join(c.Own, Source)} {
		if err := state.Walk(dir, see); err != nil {
			return err
		}
	}
	return c.notes().sweep(there)
}
