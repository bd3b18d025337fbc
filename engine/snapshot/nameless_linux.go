package snapshot

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// descriptors is where a file without a name is found by its number.
const descriptors = "/proc/self/fd/"

// openNameless opens a file in dir that vanishes with the last who has it open.
func openNameless(dir string) (*os.File, error) {
	if _, err := os.Stat(descriptors); err != nil {
		return nil, err // it could not be named later
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// linkNameless gives it a name that is free.
func linkNameless(f *os.File, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, descriptors+strconv.Itoa(int(f.Fd())), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: "the new file", New: name, Err: err}
	}
	return nil
}
