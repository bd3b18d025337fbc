// Package treetar writes a folder of a machine to a tar file, and a folder from one.
package treetar

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Pack writes a folder as a tar file, with times in nanoseconds. Sockets, pipes and
// devices are left out.
func Pack(ctx context.Context, dir, file string) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buf := bufio.NewWriterSize(out, 1<<20)
	w := tar.NewWriter(buf)
	linked := map[[2]uint64]string{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return packEntry(w, root, path, linked)
	})
	if err != nil {
		return err
	}
	return errors.Join(w.Close(), buf.Flush())
}

func packEntry(w *tar.Writer, root *os.Root, path string, linked map[[2]uint64]string) error {
	info, err := root.Lstat(path)
	if err != nil {
		return err
	}
	target := ""
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if target, err = root.Readlink(path); err != nil {
			return err
		}
	default:
		return nil
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Format, h.Uname, h.Gname, h.AccessTime, h.ChangeTime = path, tar.FormatPAX, "", "", time.Time{}, time.Time{}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && st.Nlink > 1 {
		key := [2]uint64{uint64(st.Dev), st.Ino} //nolint:unconvert // it is an int32 on macOS
		if first, ok := linked[key]; ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
			return w.WriteHeader(h)
		}
		linked[key] = path
	}
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
