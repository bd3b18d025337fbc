package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/internal/osfile"
)

// ErrNoSpace is matched by errors.Is when a write failed because the disk or
// the user's quota is full. It matches ENOSPC, as such a write does.
var ErrNoSpace error = noSpace{}

type noSpace struct{}

func (noSpace) Error() string { return "no space left" }
func (noSpace) Unwrap() error { return syscall.ENOSPC }

// NoSpaceError says where there was no space left.
type NoSpaceError struct {
	Path string
	Err  error
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("no space left to write %s; free some and try again", e.Path)
}

// Unwrap returns the system's error.
func (e *NoSpaceError) Unwrap() error { return e.Err }

// Is matches [ErrNoSpace].
func (e *NoSpaceError) Is(target error) bool { return target == ErrNoSpace }

// NoSpace is a [*NoSpaceError] of the path where err says that the disk or the quota is full,
// and else err.
func NoSpace(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &NoSpaceError{Path: path, Err: err}
	}
	return err
}

// WriteFile replaces a file as a whole: a reader, a crash or a full disk sees
// the old content or the new one and never a part. The new content is on disk
// when WriteFile returns.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	if err := writeFile(path, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, NoSpace(path, err))
	}
	return nil
}

func writeFile(path string, data []byte, perm os.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, temporary+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed already; the first error is the one to tell
			_ = os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

const (
	temporary = ".tmp-"
	abandoned = time.Hour // no write takes that long
)

// Sweep removes what writers that were killed have left in dir.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), temporary) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			errs = append(errs, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// SweepNotes removes what killed writers have left of what is noted of surfaces, of runs and
// of what the user has confirmed.
func (s *Store) SweepNotes() error {
	var errs []error
	for _, name := range []string{"surfaces", "surfaces/runs", "trust", "trust/confirmed", "trust/ran", "trust/records"} {
		if err := Sweep(filepath.Join(s.stateDir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// SweepLinks removes links in dir that have led nowhere for so long that nobody is
// about to make their target.
func SweepLinks(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := entry.Info()
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			continue
		}
		if time.Since(info.ModTime()) < abandoned && !orphaned(entry.Name()) {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// orphaned reports whether a name ends with the number of a process, as that of a
// link which is about to be renamed, and the process is gone.
func orphaned(name string) bool {
	pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// SyncDir makes a rename in a folder survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// SyncDisk writes the file system that a folder is on to its disk: all that others have written
// into the folder survives a power cut.
func SyncDisk(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return osfile.Sync(d)
}
