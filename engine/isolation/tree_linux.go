package isolation

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// tree is a folder of this computer in which the file tree of a sandbox, or what
// lies on top of that of an image, is put together.
type tree struct {
	base  string // where it is written
	below string // the image below it, if any: its links are not walked through
}

// at is the place of a path inside. It refuses a path that leads through a link.
func (t tree) at(path string) (string, error) {
	rel := strings.Trim(filepath.Clean("/"+path), "/")
	if rel == "" {
		return t.base, nil
	}
	parts := strings.Split(rel, "/")
	for n := range parts {
		part := filepath.Join(parts[:n+1]...)
		for _, root := range []string{t.base, t.below} {
			if root == "" {
				continue
			}
			if info, err := os.Lstat(filepath.Join(root, part)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				if n == len(parts)-1 && root == t.below {
					continue // what is written here hides the link
				}
				return "", sdk.Errorf(sdk.Invalid, "nothing can be put at %s, because /%s is a link there", path, part)
			}
		}
	}
	return filepath.Join(t.base, rel), nil
}

// dir makes a folder and those above it.
func (t tree) dir(path string) error {
	place, err := t.at(path)
	if err != nil {
		return err
	}
	return os.MkdirAll(place, 0o755)
}

// file writes a file.
func (t tree) file(path, content string) error {
	place, err := t.at(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	return os.WriteFile(place, []byte(content), 0o644)
}

// link makes a symbolic link; what is there already stays.
func (t tree) link(target, path string) error {
	parent, err := t.at(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	err = os.Symlink(target, filepath.Join(parent, filepath.Base(path)))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// mountPoint makes what a file or folder can be mounted on.
func (t tree) mountPoint(source, path string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return t.dir(path)
	}
	place, err := t.at(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(place); err == nil {
		return nil
	}
	return t.file(path, "")
}

// copy brings a file or folder of this computer to the same path inside. Links in
// a folder stay links; what not everybody may read is left out.
func (t tree) copy(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return t.copyFile(path, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // not readable for this user
		}
		inside := path + strings.TrimPrefix(name, real)
		switch {
		case entry.IsDir():
			return t.dir(inside)
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return t.link(target, inside)
		case entry.Type().IsRegular():
			return t.copyFile(name, inside)
		}
		return nil
	})
}

func (t tree) copyFile(from, inside string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.Mode()&0o004 == 0 {
		return err
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return t.file(inside, string(data))
}
