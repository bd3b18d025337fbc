package state

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncDisk writes the file system that a folder is on to its disk: all that others have
// written into the folder survives a power cut.
func SyncDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
