// Package osfile has what package os lacks for open files: files in memory or without a name,
// duplicates, and the disk under a file.
package osfile

import (
	"cmp"
	"errors"
	"io"
	"os"
	"syscall"
)

// Duplicate opens another descriptor of a file, which does not block.
func Duplicate(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	cerr := raw.Control(func(n uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, err = syscall.Dup(int(n)); err == nil {
			syscall.CloseOnExec(fd)
			err = syscall.SetNonblock(fd, true)
		}
	})
	if err = cmp.Or(cerr, err); err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Unnamed makes a file on the disk of dir. Its name is gone at once, so that nothing is left of it
// when this program dies.
func Unnamed(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenNonblock keeps the opening of a named pipe from waiting for its writer.
const OpenNonblock = syscall.O_NONBLOCK

// IsClosedPipe reports whether a write failed because nobody reads any more.
func IsClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// OnlyReader keeps io.Copy from splicing between files.
type OnlyReader struct{ io.Reader }
