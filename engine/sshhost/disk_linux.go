package sshhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// networkDisks are the file systems, by the number that statfs gives, whose files other
// computers have as well. FUSE may be one.
var networkDisks = map[uint32]bool{
	unix.NFS_SUPER_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.AFS_FS_MAGIC: true, unix.CODA_SUPER_MAGIC: true,
	unix.SMB_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true,
	unix.V9FS_MAGIC: true, unix.FUSE_SUPER_MAGIC: true, unix.OCFS2_SUPER_MAGIC: true,
	0x0bd00bd0: true, // Lustre
	0x47504653: true, // GPFS
	0x19830326: true, // BeeGFS
	0xaad7aaea: true, // PanFS
	0x01161970: true, // GFS2
	0x013111a8: true, // the Andrew file system of IBM
}

// networkDisk reports whether a folder is on a network file system.
func networkDisk(dir string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false, err
	}
	return networkDisks[uint32(fs.Type)], nil
}

// userNamespaces tries whether a program of the user gets a user namespace, which bubblewrap and
// gVisor need without root.
func userNamespaces() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		return nil
	}
	return fmt.Errorf("programs of users get no user namespace: %w", err)
}
