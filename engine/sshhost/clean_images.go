package sshhost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// justUsed is how long an image stays for a machine that is about to be made of it.
const justUsed = 5 * time.Minute

// hasSnapshots reports whether this user has snapshots of sandboxes, of a Seer that was used on this
// host itself. They may need an image, and only that Seer knows which.
func hasSnapshots(getenv func(string) string) bool {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(volumesDir(getenv)), "snapshots", "*")) // the pattern is not bad
	return len(found) > 0
}

// images removes what is unpacked in a folder and what no machine and no saved system needs, and what
// killed programs have left there. machines is the folder of the machines.
func (c *cleaner) images(dir, machines string) error {
	all, err := image.List(dir)
	if err != nil {
		return err
	}
	trees, digests, err := local.ReferencedImages(machines)
	if err != nil {
		return err
	}
	keep := func(s image.Stored) bool {
		return slices.Contains(trees, s.Dir) || slices.Contains(digests, s.Digest) || time.Since(s.LastUse) < justUsed
	}
	for _, s := range all {
		if keep(s) {
			continue
		}
		name := s.Digest
		if len(s.Refs) > 0 {
			name = s.Refs[0]
		}
		c.removed = append(c.removed, sdk.Cleaned{Name: "image " + name, Bytes: s.Bytes})
	}
	if _, err := os.Stat(dir); err != nil || c.dry {
		return nil //nolint:nilerr // there are no images
	}
	_, err = image.Prune(dir, keep)
	return errors.Join(err, sweepWork(filepath.Join(dir, workName))) // folders stay, for a pull may be about to use them
}

// sweepWork removes the files of programs that have ended and whose callers do not come back.
func sweepWork(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		info, statErr := entry.Info()
		if statErr != nil || time.Since(info.ModTime()) < justUsed {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		lock, held, lockErr := state.TryAcquire(strings.TrimSuffix(path, filepath.Ext(path)) + lockSuffix)
		if lockErr == nil && !held {
			if filepath.Ext(path) != lockSuffix {
				err = errors.Join(err, os.Remove(path))
			}
			lock.Remove()
		}
	}
	return err
}
