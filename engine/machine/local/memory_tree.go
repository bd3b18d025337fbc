package local

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// savedTrees are the folders that are saved with the processes.
var savedTrees = [...]string{"workspace", "home", "tmp", "scratch"}

// packTree writes a folder as a tar file, with times in nanoseconds. Sockets, pipes and
// devices are left out.
func packTree(ctx context.Context, dir, file string) (err error) {
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

// unpackTree fills a folder with what [packTree] has written, or what a store has given
// out of it. Nothing leads out of the folder, whatever the file says.
func unpackTree(ctx context.Context, file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := tar.NewReader(bufio.NewReaderSize(in, 1<<20))
	var dirs []*tar.Header
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = unpackEntry(root, h, r)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- { // what is put into a folder changes its time, and one may be read-only
		h := dirs[i]
		if err := errors.Join(root.Chmod(h.Name, h.FileInfo().Mode()), root.Chtimes(h.Name, h.ModTime, h.ModTime)); err != nil {
			return err
		}
	}
	return nil
}

func unpackEntry(root *os.Root, h *tar.Header, r io.Reader) error {
	if !filepath.IsLocal(h.Name) {
		return sdk.Errorf(sdk.Invalid, "%.200q leads out of the folder", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(h.Name, 0o700); err != nil {
			return err
		}
		return giveTo(root, h)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, h.Name); err != nil {
			return err
		}
		return giveTo(root, h)
	case tar.TypeLink:
		return root.Link(h.Linkname, h.Name)
	case tar.TypeReg:
	default:
		return nil
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close(), giveTo(root, h)); err != nil {
		return err
	}
	return errors.Join(root.Chmod(h.Name, h.FileInfo().Mode()), root.Chtimes(h.Name, h.ModTime, h.ModTime))
}

// giveTo gives an entry its owner, where this program may.
func giveTo(root *os.Root, h *tar.Header) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(h.Name, h.Uid, h.Gid)
}
