package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// dialUnix connects to a socket whose path may be longer than the kernel's
// address structure: it goes through a descriptor of the folder.
func dialUnix(ctx context.Context, d *net.Dialer, path string) (net.Conn, error) {
	if len(path) <= maxUnixPath {
		return dialRoom(ctx, d, path)
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
	return dialRoom(ctx, d, short)
}

// dialRoom waits for room in the queue of the socket. Other than with TCP, the kernel does
// not: it refuses a connection with EAGAIN as long as too many others wait to be taken.
func dialRoom(ctx context.Context, d *net.Dialer, path string) (net.Conn, error) {
	limit := time.After(d.Timeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		conn, err := d.DialContext(ctx, "unix", path)
		if !errors.Is(err, unix.EAGAIN) {
			return conn, err
		}
		select {
		case <-time.After(wait):
		case <-limit:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
