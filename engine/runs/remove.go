package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// made matches the names of folders that Create makes.
var made = lazyregexp.New(`^[A-Za-z0-9._-]+-\d{8}-\d{6}-[A-Za-z0-9._-]+$`)

// Remove removes the folder of a run, and the link beside it if that leads there. A run that goes
// on is [errdefs.KindConflict]. A folder that has not the name of a run is refused, because it may
// hold other things.
func Remove(r *Run) error {
	if !made().MatchString(filepath.Base(r.Dir)) {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("remove the run %s: the folder %s is not named as Create names it, and may hold other things; remove it yourself", r.ID, r.Dir)}
	}
	now, err := Open(r.Dir)
	if err != nil {
		return fmt.Errorf("remove the run %s: %w", r.ID, err)
	}
	if now.State == Running {
		return &errdefs.Error{Kind: errdefs.KindConflict, Err: fmt.Errorf("the run %s is running; stop it before you remove it", r.ID)}
	}
	if now.ID != r.ID {
		return &errdefs.Error{Kind: errdefs.KindConflict, Err: fmt.Errorf("remove the run %s: another run, %s, has its folder now", r.ID, now.ID)}
	}
	if err := removeFolder(r.Dir, state.RemoveAll); err != nil {
		return errdefs.Wrap(errdefs.KindConfig, fmt.Errorf("remove the run %s: %w", r.ID, err))
	}
	return unlink(filepath.Dir(r.Dir), filepath.Base(r.Dir))
}

// removeFolder removes the log last. A removal that fails or is killed then leaves a run, which the
// next one finds and removes.
func removeFolder(dir string, remove func(path string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == EventsName {
			continue
		}
		if err := remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return remove(dir)
}

// unlink has the link to a folder that was removed lead to the newest that is left, if any.
func unlink(root, dir string) error {
	above, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer above.Close()
	if to, err := above.Readlink(LatestName); err != nil || to != dir {
		return nil // there is no such link
	}
	var newest known
	dirs, err := folders([]string{root})
	for _, d := range dirs {
		if k, ok := identify(d); ok && k.started.After(newest.started) {
			newest = k
		}
	}
	if newest.dir != "" {
		return errors.Join(err, link(above, filepath.Base(newest.dir)))
	}
	if removed := above.Remove(LatestName); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
