package hubcache

import (
	"os"
	"path/filepath"
	"time"
)

// Earlier finds a file of that path in another commit of a model that the cache has: the
// commit whose snapshot was changed last. What the file holds is not verified.
func (c Cache) Earlier(name, commit, path string) (otherCommit, file string, ok bool) {
	folder, err := folderName(name)
	if err != nil {
		return "", "", false
	}
	snapshots := filepath.Join(c.Dir, folder, "snapshots")
	entries, err := os.ReadDir(snapshots)
	if err != nil {
		return "", "", false
	}
	var newest time.Time
	for _, e := range entries {
		if e.Name() == commit || !e.IsDir() {
			continue
		}
		dir, err := e.Info()
		if err != nil || ok && !dir.ModTime().After(newest) {
			continue
		}
		at, err := filepath.EvalSymlinks(filepath.Join(snapshots, e.Name(), filepath.FromSlash(path)))
		if err != nil {
			continue
		}
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			otherCommit, file, ok, newest = e.Name(), at, true, dir.ModTime()
		}
	}
	return otherCommit, file, ok
}
