package osfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Anonymous makes a file that lives in memory, so that a full disk cannot
// take it away.
func Anonymous(_ string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("seer", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "seer-memory")
	return f, f.Truncate(size)
}

// Sealed makes a file that lives in memory and that nobody can change, if closed.
func Sealed(_ string, data []byte, closed bool) (*os.File, error) {
	fd, err := unix.MemfdCreate("seer-worker", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "seer-worker")
	if _, err = f.Write(data); err == nil && closed {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("keep a file in memory: %w", err)
	}
	return f, nil
}

// PunchHole gives the disk space of the first n bytes back; offsets stay.
func PunchHole(f *os.File, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, n)
}

// Space tells the size of a file's disk, and what is free of it for us.
func Space(f *os.File) (total, free uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &stat); err != nil {
		return 0, 0, err
	}
	return stat.Blocks * uint64(stat.Bsize), stat.Bavail * uint64(stat.Bsize), nil
}

// Sync writes the file system under a file to its disk.
func Sync(f *os.File) error { return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))) }
