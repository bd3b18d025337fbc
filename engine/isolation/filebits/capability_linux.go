package filebits

import "golang.org/x/sys/unix"

const capability = "security.capability"

// dropCapability removes the capabilities of a file and reports whether it had any.
func dropCapability(path string) (bool, error) {
	if size, err := unix.Lgetxattr(path, capability, nil); err != nil || size == 0 {
		return false, nil //nolint:nilerr // it has none, or the file system knows none
	}
	return true, unix.Lremovexattr(path, capability)
}
