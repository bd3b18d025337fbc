package sshhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/sdk"
)

// programs is the folder of the cache with the programs that package ssh brings here.
const programs = "host"

// longUnused is how long a program must not have been asked for where other computers, whose
// processes nobody sees from here, have the same files. Package ssh removes them then, too.
const longUnused = 30 * 24 * time.Hour

// cleanOptions are those of "clean" on a host.
type cleanOptions struct {
	// Alone says that no other computer that has the same files uses them: the caller has asked
	// the cluster for its jobs.
	Alone bool `json:"alone"`
}

// clean removes Seer's programs, cache and own volumes of this user, unless something uses them: a program that
// runs stays, and while there is a machine its whole cache does, except images that none runs in.
func (h *host) clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	var o cleanOptions
	if len(in.Options) > 0 {
		if err := json.Unmarshal(in.Options, &o); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "the options of clean are not what Seer's program knows: %v", err)
		}
	}
	if err := h.sweep(); err != nil {
		return nil, err
	}
	used, err := h.used(ctx)
	if err != nil {
		return nil, err
	}
	c := &cleaner{dry: in.DryRun, home: os.Getenv("HOME"), running: runningPrograms("/proc"), removed: []sdk.Cleaned{}}
	others := func(dir string) (bool, error) {
		far, err := networkDisk(existing(dir))
		return far && !o.Alone, err
	}
	usual, own := place{}.cacheOf(os.Getenv), filepath.Join(usualDisk, fmt.Sprintf("seer-%d", os.Geteuid()))
	for _, top := range []string{usual, own} {
		shared, err := others(top)
		if err == nil && !(used && runtime.GOOS != "linux") { // elsewhere nobody sees which program runs
			err = c.programs(filepath.Join(top, programs), shared)
		}
		if err != nil {
			return c.removed, err
		}
	}
	caches := []string{usual, filepath.Join(own, "cache"), h.store.CacheDir()}
	slices.Sort(caches)
	for _, top := range slices.Compact(caches) {
		shared, err := others(top)
		if err == nil && !shared && !hasSnapshots(os.Getenv) {
			err = c.images(filepath.Join(top, imagesName), filepath.Join(h.store.StateDir(), local.Name))
		}
		if err == nil && !used && !shared {
			err = c.entries(ctx, top)
		}
		if err != nil {
			return c.removed, err
		}
	}
	top := volumesDir(os.Getenv)
	shared, err := others(top)
	if err == nil && !used && !shared {
		err = c.volumes(top)
	}
	return c.removed, err
}

// used reports whether there is a machine of this user, whoever owns it, or a system that was saved
// from one, which stands upon an image of the cache.
func (h *host) used(ctx context.Context) (bool, error) {
	dir := filepath.Join(h.store.StateDir(), local.Name)
	saved, _ := filepath.Glob(filepath.Join(dir, "saved", "*.json")) // the pattern is not bad
	notes, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(saved) > 0 {
		return true, nil
	}
	var handles []string
	for _, note := range notes {
		handles = append(handles, strings.TrimSuffix(filepath.Base(note), ".json"))
	}
	seen, err := h.Observe(ctx, handles)
	return slices.ContainsFunc(seen, func(o sdk.Observation) bool { return o.State.Live() }), err
}

// cleaner removes, or only tells what it would remove.
type cleaner struct {
	dry     bool
	home    string
	running map[string]bool // files that a process of this computer runs
	removed []sdk.Cleaned
}

// programs removes those that nothing runs. With others, other computers may run them.
func (c *cleaner) programs(dir string, others bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, statErr := entry.Info()
		if statErr != nil || !info.Mode().IsRegular() || c.running[path] || others && time.Since(info.ModTime()) < longUnused {
			continue
		}
		if strings.HasPrefix(entry.Name(), ".") && time.Since(info.ModTime()) < time.Hour {
			continue // on its way here
		}
		if err := c.remove(path, info.Size()); err != nil {
			return err
		}
	}
	return err
}

// entries removes what is in a cache, each as one.
func (c *cleaner) entries(ctx context.Context, top string) error {
	entries, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Name() == programs || entry.Name() == imagesName {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(top, entry.Name())
		size, walkErr := sizeOf(path)
		if walkErr != nil {
			return walkErr
		}
		if err := c.remove(path, size); err != nil {
			return err
		}
	}
	return err
}

func (c *cleaner) remove(path string, bytes int64) error {
	if !c.dry {
		if err := removeTree(path); err != nil {
			return err
		}
	}
	name := path
	if rest, ok := strings.CutPrefix(path, c.home+"/"); ok && c.home != "" {
		name = "~/" + rest
	}
	c.removed = append(c.removed, sdk.Cleaned{Name: name, Bytes: bytes})
	return nil
}

// removeTree removes a folder, also where files of a cache are read-only.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // else the removal says what is wrong
		}
		return nil
	})
	return os.RemoveAll(path)
}

// sizeOf is the size of the files below a path; links are not followed.
func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read counts nothing; the removal says why
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, err
}

// runningPrograms are the files that processes of this computer run, other than this one, as far
// as the user may see.
func runningPrograms(proc string) map[string]bool {
	running := map[string]bool{}
	entries, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "exe"))
	self := fmt.Sprint(os.Getpid())
	for _, entry := range entries {
		if filepath.Base(filepath.Dir(entry)) == self {
			continue
		}
		if file, err := os.Readlink(entry); err == nil {
			running[file] = true
		}
	}
	return running
}
