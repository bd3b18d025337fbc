package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// indexName is the folder in the state folder that has a link for each run of this user.
const indexName = "runs"

// known is what the first line of a log says.
type known struct {
	dir, id string
	started time.Time
}

// identify reads the first line of a log that is an event.
func identify(dir string) (k known, ok bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return k, false
	}
	defer root.Close()
	log, err := openLog(root)
	if err != nil {
		return k, false
	}
	defer log.Close()
	err = lines(log, func(_ int, line []byte) bool {
		h, err := headerOf(line)
		ok = err == nil && h.Run != ""
		k = known{dir, h.Run, h.Time}
		return !ok
	})
	return k, ok && err == nil
}

// Remember notes in the state folder where a run is, so that [Remembered] finds it from every
// working folder.
func Remember(stateDir string, f *Folder) error {
	index := filepath.Join(stateDir, indexName)
	err := os.MkdirAll(index, 0o700)
	if err == nil {
		err = remember(index, f)
	}
	if err != nil {
		return fmt.Errorf("remember where the run %s is: %w", f.id, state.NoSpace(index, err))
	}
	return nil
}

func remember(index string, f *Folder) error {
	name := filepath.Base(f.path) + "." + strings.TrimPrefix(unnamed().ReplaceAllString(f.id, "-"), idPrefix)
	err := os.Symlink(f.path, filepath.Join(index, name))
	if errors.Is(err, fs.ErrExist) { // an earlier folder of that name, which is gone
		next := filepath.Join(index, "."+name)
		_ = os.Remove(next) // of a program that was killed here
		if err = os.Symlink(f.path, next); err == nil {
			err = os.Rename(next, filepath.Join(index, name))
		}
	}
	return err
}

// Remembered are the folders of the runs that [Remember] has noted. Notes of folders that are gone
// are dropped.
func Remembered(stateDir string) ([]string, error) {
	index := filepath.Join(stateDir, indexName)
	entries, err := os.ReadDir(index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the remembered runs: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		note := filepath.Join(index, e.Name())
		dir, err := os.Readlink(note)
		if err != nil || !filepath.IsAbs(dir) {
			continue // not ours
		}
		if _, err := os.Lstat(filepath.Join(dir, EventsName)); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(note) // a disk that takes no changes keeps it, which harms nobody
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}
