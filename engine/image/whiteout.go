package image

import (
	"archive/tar"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// ociWhiteout obeys .wh.NAME (NAME is gone) and .wh..wh..opq (of the folder's content,
// only what this layer brings is there).
func (t *tree) ociWhiteout(name, base string) error {
	switch target := strings.TrimPrefix(base, ".wh."); {
	case target == ".wh..opq":
		dir, err := t.find(path.Dir(name), false)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return t.cutInside(dir)
	case strings.HasPrefix(target, ".wh."): // bookkeeping of old storage drivers
		return nil
	case target == "" || target == "." || target == "..":
		return invalid("%q deletes nothing that could be there", name)
	default:
		return t.whiteout(path.Join(path.Dir(name), target))
	}
}

// isDeviceWhiteout reports whether an entry says, in the way of an overlay's upper
// folder, that a file is gone.
func (t *tree) isDeviceWhiteout(hdr *tar.Header, name string) bool {
	switch hdr.Typeflag {
	case tar.TypeChar:
		if hdr.Devmajor != 0 || hdr.Devminor != 0 {
			return false
		}
	case tar.TypeLink: // all whiteouts of an upper folder are one file
		target, err := local(hdr.Linkname)
		if err != nil || !t.white[target] {
			return false
		}
	default:
		return false
	}
	t.white[name] = true
	return true
}

// whiteout removes what lower layers have at name.
func (t *tree) whiteout(name string) error {
	dir, err := t.find(path.Dir(name), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.cut(path.Join(dir, path.Base(name)))
}

// cut removes what is at a resolved path, but for what this layer has put there.
func (t *tree) cut(full string) error {
	info, err := t.root.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := t.cutInside(full); err != nil {
			return err
		}
	}
	if t.made[full] {
		return nil
	}
	t.forgetLater()
	err = t.root.Remove(full)
	if info.IsDir() && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)) {
		return nil // something of this layer is in it
	}
	return err
}

func (t *tree) cutInside(dir string) error {
	f, err := t.root.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	_ = f.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.cut(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
