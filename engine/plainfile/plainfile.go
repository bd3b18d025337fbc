// Package plainfile reads and writes files in folders that somebody else has filled, or can
// change at the same time: an agent, what it left running, or a program of the user's. It
// follows no link, waits for no pipe, opens no device and reads no more than the caller says.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrOther is the error for what is not a plain file, or larger than the caller reads.
var ErrOther = errors.New("not a plain file")

// Escapes reports whether err is the refusal of an [os.Root] to leave its folder, for which package
// os exports no error.
func Escapes(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes")
}

// Open opens a plain file below root. A link or anything else at that name is an
// [ErrOther]; root keeps the folders on the way to it inside.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: ErrOther}
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(before, info)) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrOther}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Read reads a plain file of at most limit bytes.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w of at most %d bytes", ErrOther, limit)}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w of at most %d bytes", ErrOther, limit)}
	}
	return data, err
}
