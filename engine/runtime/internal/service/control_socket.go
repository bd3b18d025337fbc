package service

import (
	"net"
	"os"

	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// controlName is the socket of a worker in its folder.
const controlName = "control"

// listenControl makes the socket on which a worker is found, by this runtime and by
// those after it.
func listenControl(dir string) (*os.File, error) {
	path, folder, err := unixsocket.ShortPath(dir, controlName)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return l.File()
}

func dialControl(dir string) (*net.UnixConn, error) {
	path, folder, err := unixsocket.ShortPath(dir, controlName)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
}
