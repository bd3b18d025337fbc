package runtime

import (
	"io"
	"net"
	"os"
	"syscall"
)

// socketPair makes two connected sockets: one for Go, one for a worker.
func socketPair() (*net.UnixConn, *os.File, error) {
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

// handOver makes a descriptor that a worker can use of a connection, which is the
// worker's alone from then on. What is no socket of its own is copied.
func handOver(conn net.Conn) (*os.File, error) {
	if _, own := conn.(interface{ File() (*os.File, error) }); own {
		defer conn.Close()
		return descriptor(conn)
	}
	near, far, err := socketPair()
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
