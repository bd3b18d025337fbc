package filebits

import (
	"errors"
	"io/fs"
	"os"
)

const others = 0o077 // what a mode gives to the group and to other users

// Modes are the permissions that others have in a folder before somebody works there.
type Modes struct {
	dir    string
	usual  fs.FileMode            // what the umask leaves of others, and who may write in dir
	before map[string]fs.FileMode // of others, where it is not as usual
}

// Remember notes the permissions in a folder. It follows no links.
func Remember(dir string) (*Modes, error) {
	mask, err := umask()
	if err != nil {
		return nil, err
	}
	m := &Modes{dir: dir, usual: others &^ mask, before: map[string]fs.FileMode{}}
	return m, m.walk(func(_ *os.Root, path string, info fs.FileInfo) error {
		if path == "." {
			m.usual |= info.Mode() & 0o022 // who shares the folder shares what is new in it
		}
		if now := info.Mode() & others; path == "." || now != m.of(info) && now != m.usual {
			m.before[path] = now
		}
		return nil
	})
}

// of is what others usually have of a file or folder.
func (m *Modes) of(info fs.FileInfo) fs.FileMode {
	if info.IsDir() {
		return m.usual
	}
	return m.usual &^ 0o011
}

// Restore takes from files and folders of this user what others had not before and the
// umask does not give them. It returns the names of what it has changed, relative to the
// folder. A file whose group or others had less than usual keeps that. Folders that their
// owner cannot read are unlocked first.
func (m *Modes) Restore() ([]string, error) {
	var changed []string
	if _, err := Unlock(m.dir); err != nil { // others may enter what its owner cannot read
		return nil, err
	}
	err := m.walk(func(root *os.Root, path string, info fs.FileInfo) error {
		allowed, known := m.before[path]
		if !known {
			allowed = m.usual
		}
		extra := info.Mode() & others &^ allowed
		if extra == 0 || !ours(info) {
			return nil
		}
		changed = append(changed, path)
		return root.Chmod(path, info.Mode()&^extra)
	})
	return changed, err
}

// walk visits all files and folders, each folder before what is in it, so that a folder
// is closed before its files are.
func (m *Modes) walk(visit func(root *os.Root, path string, info fs.FileInfo) error) error {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var errs []error
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return nil //nolint:nilerr // of another user, or gone
		}
		info, err := root.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		case info.IsDir() || info.Mode().IsRegular():
			errs = append(errs, visit(root, path, info))
		}
		return nil
	})
	return errors.Join(errs...)
}
