package batchjob

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// networked are the numbers of file systems that other computers see, too.
var networked = map[int64]bool{
	unix.NFS_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true,
	unix.AFS_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.V9FS_MAGIC: true,
	0x0BD00BD0: true, // Lustre
	0x47504653: true, // GPFS
	0x19830326: true, // BeeGFS
	0xAAD7AAEA: true, // PanFS
	0x7461636f: true, // OCFS2
	0x01161970: true, // GFS2
}

// shared reports whether a folder, or the one that it would be made in, is on a file system of
// the network.
func shared(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err == nil {
			return networked[int64(uint32(fs.Type))]
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
