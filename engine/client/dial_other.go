//go:build !linux

package client

import (
	"context"
	"fmt"
	"net"
)

func dialUnix(ctx context.Context, d *net.Dialer, path string) (net.Conn, error) {
	if len(path) > maxUnixPath {
		return nil, fmt.Errorf("the path of the socket %s is longer than the %d bytes that this system can connect to", path, maxUnixPath)
	}
	return d.DialContext(ctx, "unix", path)
}
