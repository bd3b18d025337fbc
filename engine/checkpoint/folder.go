package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/state"
)

// folder is below that of the local provider: saved processes on their way.
const folder = "memory"

// workFolder makes a folder for saved processes. What a killed program leaves of it is
// removed by the next.
func (c Checkpointer) workFolder(ctx context.Context) (dir string, done func(), err error) {
	if err := Sweep(c.Store); err != nil {
		return "", nil, err
	}
	base, err := c.Store.Dir(local.Name, folder)
	if err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(base, "m")
	if err != nil {
		return "", nil, err
	}
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		lock.Remove()
	}, nil
}

// Sweep removes what killed programs have left of saved processes.
func Sweep(store *state.Store) error {
	parent, err := store.Dir(local.Name)
	if err != nil {
		return err
	}
	base := filepath.Join(parent, folder)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		lock, held, err := state.TryAcquire(dir + ".lock")
		if err != nil || held {
			continue // somebody works in it
		}
		err = os.RemoveAll(dir)
		lock.Remove()
		if err != nil {
			return err
		}
	}
	_ = os.Remove(base) // where nobody has anything in it
	return nil
}
