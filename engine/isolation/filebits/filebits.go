// Package filebits removes setuid bits, setgid bits and file capabilities, which give a user who
// runs a file other rights. It also closes files and folders that were opened to other users.
package filebits

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Strip strips all files of this user below dir, and folders of their setgid bit unless
// dir has it, too: then the user shares it with a group. It follows no links. It returns
// the names of what it has changed, relative to dir. Nothing else may write there
// meanwhile.
func Strip(dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top, err := root.Lstat(".")
	if err != nil {
		return nil, err
	}
	shared := top.Mode()&fs.ModeSetgid != 0
	var stripped []string
	var errs []error
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a folder that its owner made unreadable: nobody else reaches what is in it
		}
		done, err := strip(root, dir, path, d, shared)
		if done {
			stripped = append(stripped, path)
		}
		errs = append(errs, err)
		return nil
	})
	return stripped, errors.Join(errs...)
}

func strip(root *os.Root, dir, path string, d fs.DirEntry, shared bool) (bool, error) {
	if !d.IsDir() && !d.Type().IsRegular() {
		return false, nil
	}
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !ours(info) {
		return false, nil // of another user: no command of this one made it
	}
	bad := info.Mode() & (fs.ModeSetuid | fs.ModeSetgid)
	if d.IsDir() && shared {
		bad &^= fs.ModeSetgid
	}
	if bad != 0 {
		err = root.Chmod(path, info.Mode()&^bad)
	}
	capable := false
	if d.Type().IsRegular() {
		var removed error
		capable, removed = dropCapability(filepath.Join(dir, path))
		err = errors.Join(err, removed)
	}
	return bad != 0 || capable, err
}

// ours reports whether this user may change the mode of a file.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || int(st.Uid) == os.Geteuid()
}
