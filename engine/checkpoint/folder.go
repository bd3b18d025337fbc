package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	f, err := os.CreateTemp(base, "m*.lock")
	if err != nil {
		return "", nil, err
	}
	_ = f.Close()
	lock, err := state.Acquire(ctx, f.Name()) // before there is a folder: Sweep removes one that nobody has locked
	if err != nil {
		return "", nil, err
	}
	dir = strings.TrimSuffix(f.Name(), ".lock")
	if err := os.Mkdir(dir, 0o700); err != nil {
		lock.Remove()
		return "", nil, err
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
		dir := filepath.Join(base, strings.TrimSuffix(entry.Name(), ".lock"))
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
	return nil // base stays: somebody may be about to make a folder in it
}
