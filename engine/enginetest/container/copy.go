package container

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies the folder src to dst while programs may be writing to it: what goes
// away meanwhile is left out, and so is what is no file, folder or link. Folders of
// dst that are there already are filled up.
func Copy(ctx context.Context, dst, src string) error {
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if gone(err) && path != src {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		if err := copyEntry(filepath.Join(dst, rel), path, e); !gone(err) || path == src {
			return err
		}
		return nil
	})
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func copyEntry(dst, src string, e fs.DirEntry) error {
	switch e.Type() {
	case fs.ModeDir:
		return os.MkdirAll(dst, 0o755)
	case fs.ModeSymlink:
		target, err := os.Readlink(src)
		if err != nil {
			return err
		}
		return os.Symlink(target, dst)
	case 0:
		return copyFile(dst, src)
	}
	return nil
}

func copyFile(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
}
