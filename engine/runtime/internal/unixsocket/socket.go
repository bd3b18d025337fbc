// Package unixsocket makes Unix sockets whose paths may be long, and hands connections to other
// processes.
package unixsocket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"syscall"
)

// Pair makes two connected sockets: one for Go, one for a worker.
func Pair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near, far := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	defer near.Close()
	conn, err := net.FileConn(near)
	if err != nil {
		far.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), far, nil
}

// HandOver makes a descriptor that a worker can use of a connection, which is the
// worker's alone from then on. What is no socket of its own is copied.
func HandOver(conn net.Conn) (*os.File, error) {
	if _, own := conn.(interface{ File() (*os.File, error) }); own {
		defer conn.Close()
		return descriptor(conn)
	}
	near, far, err := Pair()
	if err != nil {
		conn.Close()
		return nil, err
	}
	go copyBetween(near, conn)
	return far, nil
}

// copyBetween joins two connections until one of them ends.
func copyBetween(a, b net.Conn) {
	done := make(chan struct{})
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		to.Close()
		from.Close()
	}
	go func() {
		defer close(done)
		pass(a, b)
	}()
	pass(b, a)
	<-done
}

// descriptor duplicates the descriptor under a connection, blocking as Python
// expects it. The connection is of no use in Go afterwards except to be closed.
func descriptor(conn net.Conn) (*os.File, error) {
	f, err := conn.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err == nil {
		var nonblock error
		err = raw.Control(func(fd uintptr) { nonblock = syscall.SetNonblock(int(fd), false) })
		if err == nil {
			err = nonblock
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ShortPath names a file in a folder whose own path is too long for a socket. The
// name is good until the folder is closed.
func ShortPath(dir, name string) (string, *os.File, error) {
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

// Listen makes a socket that its owner alone may use.
func Listen(dir, name string) (*net.UnixListener, error) {
	return listen(dir, name, func(path string) error { return os.Chmod(path, 0o600) })
}

// Replace makes a socket that everybody may use who may enter the folder, in one step with the
// removal of an old one.
func Replace(dir, name string) (*net.UnixListener, error) {
	return listen(dir, "."+name, func(path string) error {
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
		return os.Rename(path, filepath.Join(filepath.Dir(path), name))
	})
}

// listen makes a socket in the place of one of the same name. Its file stays when it is closed.
func listen(dir, name string, finish func(path string) error) (*net.UnixListener, error) {
	path, folder, err := ShortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := finish(path); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
