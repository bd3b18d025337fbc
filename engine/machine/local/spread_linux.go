package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// topDir is FS_TOPDIR_FL of Linux: what is in the folders of this folder does not belong
// together.
const topDir = 0x00020000

// spread has the file system put each machine's files in a place of their own, where it can
// (ext2 to ext4): beside those of a machine that was removed just now, every new file costs
// a search through all that were removed, half a second for those of one notebook.
func spread(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&topDir == 0 {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDir)) // others do not know it
	}
}
