//go:build !linux

package sshhost

import (
	"strings"

	"golang.org/x/sys/unix"
)

// networkDisk reports whether a folder is on a network file system.
func networkDisk(dir string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false, err
	}
	name := unix.ByteSliceToString(fs.Fstypename[:])
	return strings.Contains("nfs smbfs afpfs webdav macfuse osxfuse", name), nil
}

// userNamespaces is of Linux.
func userNamespaces() error { return nil }
