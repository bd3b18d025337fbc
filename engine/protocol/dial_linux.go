package protocol

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dialUnix connects to a socket whose path may be longer than the kernel's
// address structure: it goes through a descriptor of the folder.
func dialUnix(ctx context.Context, d *net.Dialer, path string) (net.Conn, error) {
	if len(path) <= maxUnixPath {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the socket %s: %w", path, err)
	}
	defer unix.Close(dir)
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))
	if len(short) > maxUnixPath {
		return nil, fmt.Errorf("the name of the socket %s is longer than the system can connect to", path)
	}
	return d.DialContext(ctx, "unix", short)
}
