package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/state"
)

// sweepLayers removes what killed programs left of layers, and tells what that was.
func (e *Engine) sweepLayers() (removed []machine.GCItem, err error) {
	dir, err := e.store.Cache(layersDir)
	if err != nil {
		return removed, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return removed, err
	}
	locks := filepath.Join(dir, "locks")
	for _, entry := range entries {
		key, partial := strings.CutSuffix(entry.Name(), partialName)
		if !partial {
			continue
		}
		if err := os.MkdirAll(locks, 0o700); err != nil {
			return removed, err
		}
		lock, held, err := state.TryAcquire(filepath.Join(locks, key))
		if err != nil {
			return removed, err
		}
		if !held {
			err = removeAll(filepath.Join(dir, entry.Name()))
			lock.Release()
			removed = append(removed, machine.GCItem{Handle: entry.Name(), Provider: localName, Why: "a layer; its building was broken off"})
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, state.SweepLocks(locks, func(string) bool { return false })
}

// removeAll removes a folder, also where an installer has made folders in it read-only.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
