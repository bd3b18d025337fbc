package filebits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const own = 0o700 // what the owner of a folder needs to look into it and to rename what is there

// Closed lists the folders below dir that this user owns and cannot look into.
func Closed(dir string) ([]string, error) { return closed(dir, false) }

// Unlock gives the owner all rights over the folders that [Closed] lists, and names them.
// A folder that cannot be read can still be entered, so that programs obey what is in it.
func Unlock(dir string) ([]string, error) { return closed(dir, true) }

func closed(dir string, unlock bool) ([]string, error) {
	var found []string
	info, err := os.Stat(dir)
	if err == nil && shut(info) {
		if found = append(found, "."); !unlock {
			return found, nil
		}
		err = os.Chmod(dir, info.Mode()|own) // the root cannot be opened before
	}
	if err != nil {
		return found, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return found, err
	}
	defer root.Close()
	var errs []error
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return fs.SkipDir // of another user, or it stays closed
		case err != nil || !d.IsDir():
			return nil //nolint:nilerr // it has gone away
		}
		info, err := root.Lstat(path)
		if err != nil || !info.IsDir() || !shut(info) {
			return nil //nolint:nilerr // as above
		}
		found = append(found, path)
		if unlock {
			if err := root.Chmod(path, info.Mode()|own); err != nil {
				errs = append(errs, fmt.Errorf("open the folder %q: %w", path, err))
			}
		}
		return nil
	})
	return found, errors.Join(errs...)
}

// shut reports whether a folder of this user's keeps its owner out. Root needs no rights.
func shut(info fs.FileInfo) bool {
	return os.Geteuid() != 0 && ours(info) && info.Mode()&0o500 != 0o500
}
