package runtime

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"syscall"
)

// controlName is the socket of a worker in its folder.
const controlName = "control"

// shortPath names a file in a folder whose own path is too long for a socket. The
// name is good until the folder is closed.
func shortPath(dir, name string) (string, *os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, name)
	if len(path) > 100 && goruntime.GOOS == "linux" {
		path = fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name)
	}
	return path, f, nil
}

// listenControl makes the socket on which a worker is found, by this runtime and by
// those after it.
func listenControl(dir string) (*os.File, error) {
	path, folder, err := shortPath(dir, controlName)
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
	path, folder, err := shortPath(dir, controlName)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
}

// again opens another descriptor of a file, which does not block.
func again(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	cerr := raw.Control(func(n uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, err = syscall.Dup(int(n)); err == nil {
			syscall.CloseOnExec(fd)
			err = syscall.SetNonblock(fd, true)
		}
	})
	if err = firstOf(cerr, err); err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
