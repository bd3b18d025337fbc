//go:build !linux

package osfile

import (
	"errors"
	"os"
	"syscall"
)

// Space is not told here, and nothing is refused.
func Space(*os.File) (total, free uint64, err error) { return 0, 0, errors.ErrUnsupported }

// Anonymous makes a file without a name in dir.
func Anonymous(dir string, size int64) (*os.File, error) {
	f, err := Unnamed(dir, "memory-*")
	if err != nil {
		return nil, err
	}
	return f, f.Truncate(size)
}

// Sealed makes a file without a name, which only those change that are given it.
func Sealed(dir string, data []byte, _ bool) (*os.File, error) {
	f, err := Anonymous(dir, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// PunchHole is not supported here.
func PunchHole(*os.File, int64) error { return errors.ErrUnsupported }

// Sync writes everything to its disks: there is nothing finer here.
func Sync(*os.File) error {
	syscall.Sync()
	return nil
}
