package netproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Main is the program: it reads a [Config], serves until the machine has ended and
// returns the exit status. What it refuses is written to log, in lines that begin
// with "netproxy: ".
func Main(config io.Reader, log io.Writer) int {
	var c Config
	if err := json.NewDecoder(config).Decode(&c); err != nil {
		_, _ = fmt.Fprintln(log, "netproxy: it is started by Seer, with a configuration:", err)
		return 2
	}
	c.keepFiles()
	if err := c.serve(log); err != nil {
		_, _ = fmt.Fprintln(log, "netproxy:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed, err := c.connect(ctx, log)
	if err != nil {
		_, _ = fmt.Fprintln(log, "netproxy:", err)
		return 1
	}
	ended := make(chan struct{})
	go func() { defer close(ended); c.wait() }()
	select {
	case <-ended:
	case <-failed:
		return 1
	}
	return 0
}

// keepFiles has the programs that the network proxy starts inherit none of its files.
func (c Config) keepFiles() {
	files := append([]int{c.Run, c.Proxy}, c.Life...)
	for _, port := range append(slices.Clone(c.Ports), c.HostPorts...) {
		files = append(files, port.File)
	}
	if c.Uplink != nil {
		files = append(files, c.Uplink.Namespace, c.Uplink.Ready)
	}
	for _, file := range files {
		if file > 2 {
			unix.CloseOnExec(file)
		}
	}
}

// connect keeps the machine's namespace connected, if it has one. failed is closed when it
// could not be connected at all; the starter has been told why.
func (c Config) connect(ctx context.Context, log io.Writer) (failed <-chan struct{}, err error) {
	if c.Uplink == nil {
		return nil, nil
	}
	ready := os.NewFile(uintptr(c.Uplink.Ready), "ready")
	u, err := newUplink(os.NewFile(uintptr(c.Uplink.Namespace), "namespace"), c.Uplink.PID, c.Uplink.Tool, log)
	if err != nil {
		_, _ = ready.WriteString(err.Error())
		return nil, errors.Join(err, ready.Close())
	}
	end := make(chan struct{})
	go u.keep(ctx, func(err error) {
		defer ready.Close()
		if err == nil {
			_, _ = ready.WriteString(Connected)
			return
		}
		_, _ = ready.WriteString(err.Error())
		close(end)
	})
	return end, nil
}

func (c Config) serve(log io.Writer) error {
	hosts, err := ParseHosts(c.Hosts)
	if err != nil {
		return err
	}
	if len(c.Life) == 0 {
		return errors.New("there is no machine to serve")
	}
	for _, port := range c.Ports {
		l, err := listener(port.File)
		if err != nil {
			return fmt.Errorf("the socket of port %d: %w", port.Port, err)
		}
		go inward(l, func() (net.Conn, error) { return dialInside(c.Run, port.Port) })
	}
	for _, port := range c.HostPorts {
		l, err := listener(port.File)
		if err != nil {
			return fmt.Errorf("the socket to this computer's port %d: %w", port.Port, err)
		}
		go inward(l, func() (net.Conn, error) { return dialHere(port.Port) })
	}
	if c.Proxy == 0 {
		return nil
	}
	l, err := listener(c.Proxy)
	if err != nil {
		return fmt.Errorf("the socket of the proxy: %w", err)
	}
	proxy := &Proxy{Hosts: hosts, Open: c.Open, Log: log}
	go func() { _ = proxy.Serve(l) }()
	return nil
}

func listener(file int) (net.Listener, error) {
	f := os.NewFile(uintptr(file), "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	return l, err
}

// wait returns when the machine has ended. Process descriptors cannot mean another
// process that was given the number later.
func (c Config) wait() {
	for _, file := range c.Life {
		for {
			poll := []unix.PollFd{{Fd: int32(file), Events: unix.POLLIN}}
			if n, err := unix.Poll(poll, -1); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
}

// dialHere connects to a port of this computer's loopback.
func dialHere(port int) (net.Conn, error) {
	d := net.Dialer{Timeout: dialLimit}
	conn, err := d.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		conn, err = d.Dial("tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
	}
	return conn, err
}

// inward leads each connection on.
func inward(l net.Listener, dial func() (net.Conn, error)) {
	for {
		here, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go func() {
			there, err := dial()
			if err != nil {
				_ = here.Close() // nobody listens there yet
				return
			}
			Join(here, there)
		}()
	}
}

// dialInside connects to run/ports/PORT. The machine may put anything there: what is
// a link, or in a folder that is one, is not followed, since it would lead to
// another socket of this computer.
func dialInside(run, port int) (net.Conn, error) {
	const look = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir, err := unix.Openat(run, "ports", look|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	socket, err := unix.Openat(dir, strconv.Itoa(port), look, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	var stat unix.Stat_t
	if err := unix.Fstat(socket, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errors.New("it is not a socket")
	}
	return net.Dial("unix", "/proc/self/fd/"+strconv.Itoa(socket)) // of the very file that was looked at
}
