package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// acquire locks the workspace. The file is opened through the workspace's root:
// an agent may have left a link in its place.
func (w *workspace) acquire() (*os.File, error) {
	for {
		if err := w.vacate(lockFile); err != nil {
			return nil, fmt.Errorf("lock the workspace: %w", err)
		}
		f, err := w.root.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock the workspace: %w", err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, &BusyError{Dir: w.dir}
			}
			return nil, fmt.Errorf("lock the workspace: %w", err)
		}
		if w.holds(f) {
			return f, nil
		}
		f.Close() // its last holder has removed it meanwhile
	}
}

func (w *workspace) holds(f *os.File) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := w.root.Lstat(lockFile)
	return err == nil && os.SameFile(locked, there)
}

// vacate makes room for a file of ours: a link, or anything else that is neither a
// file nor a folder on the way to it, is kept under another name.
func (w *workspace) vacate(name string) error {
	elems := strings.Split(name, "/")
	for i := range elems {
		part := strings.Join(elems[:i+1], "/")
		info, err := w.root.Lstat(part)
		last := i == len(elems)-1
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s is in the way: %w", filepath.Join(w.dir, part), err)
		case last && info.Mode().IsRegular(), !last && info.IsDir():
			continue
		}
		return w.aside(part)
	}
	return nil
}

// aside keeps what is not ours under another name.
func (w *workspace) aside(name string) error {
	kept := name + ".kept-" + w.now.Format("20060102-150405")
	if err := w.root.Rename(name, kept); err != nil {
		return fmt.Errorf("%s is in the way: %w", filepath.Join(w.dir, name), err)
	}
	w.warn("%s was changed by somebody else; it is kept as %s", name, kept)
	return nil
}
