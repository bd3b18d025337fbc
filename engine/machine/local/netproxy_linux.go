package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/sdk"
)

// sockets are what a network proxy is started with. They are open before the machine is, so
// that nobody takes a port in between.
type sockets struct {
	files     []*os.File
	config    netproxy.Config
	proxied   bool
	hostPorts []int
}

// add hands a file on and returns its number in the network proxy.
func (s *sockets) add(f *os.File) int {
	s.files = append(s.files, f)
	return 2 + len(s.files)
}

func (s *sockets) close() {
	if s == nil {
		return
	}
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files = nil
}

// listen opens the ports of this computer, and writes down which they are. other: another
// one will do where that is allowed and the wished one is taken.
func (g *proxyNote) listen(other bool) (s *sockets, err error) {
	s = &sockets{config: netproxy.Config{Hosts: g.Hosts, Open: g.Open && g.Tool == ""}, proxied: g.proxied(), hostPorts: g.HostPorts}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for i := range g.Ports {
		port := &g.Ports[i]
		l, err := listenOutside(port, other)
		if err != nil {
			return s, err
		}
		f, err := l.File()
		_ = l.Close()
		if err != nil {
			return s, fmt.Errorf("keep port %d: %w", port.Outside, err)
		}
		s.config.Ports = append(s.config.Ports, netproxy.Port{Port: port.Port, File: s.add(f)})
	}
	return s, nil
}

func listenOutside(port *proxyPort, other bool) (*net.TCPListener, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port.Outside})
	if errors.Is(err, syscall.EADDRINUSE) && port.Any && other {
		l, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	}
	if err != nil {
		return nil, takenPort(port.Outside, err)
	}
	port.Outside = l.Addr().(*net.TCPAddr).Port
	return l, nil
}

// reachable opens what the network proxy needs of the machine's folder: that with its sockets,
// and the proxy's own. The machine may have put anything there.
func (s *sockets) reachable(f folder) error {
	run, err := os.Open(f.path("run"))
	if err != nil {
		return err
	}
	s.config.Run = s.add(run)
	if s.proxied {
		if s.config.Proxy, err = s.socket(run, "proxy"); err != nil {
			return err
		}
	}
	for _, port := range s.hostPorts {
		file, err := s.socket(run, hostSocket(port))
		if err != nil {
			return err
		}
		s.config.HostPorts = append(s.config.HostPorts, netproxy.Port{Port: port, File: file})
	}
	return nil
}

// socket makes a socket in the machine's folder, and returns its number in the network proxy.
func (s *sockets) socket(run *os.File, name string) (int, error) {
	name = filepath.Join("/proc/self/fd", strconv.Itoa(int(run.Fd())), name) // the folder's own path may be too long
	if err := os.RemoveAll(name); err != nil {
		return 0, fmt.Errorf("make the network proxy's socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return 0, fmt.Errorf("make the network proxy's socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	file, err := l.File()
	if err != nil {
		return 0, fmt.Errorf("make the network proxy's socket: %w", err)
	}
	return s.add(file), nil
}

// openProxy starts the network proxy of the machine whose processes are given. It ends when the
// last of them has.
func (p *provider) openProxy(ctx context.Context, f folder, n *note, s *sockets, machine ...process) error {
	for _, m := range machine {
		fd, err := unix.PidfdOpen(m.PID, 0)
		if err != nil {
			continue // it has ended
		}
		life := os.NewFile(uintptr(fd), "process")
		if !alive(m) { // the number was given to another one
			_ = life.Close()
			continue
		}
		s.config.Life = append(s.config.Life, s.add(life))
	}
	if len(s.config.Life) == 0 {
		return errors.New("the machine ended at once")
	}
	log, err := os.OpenFile(f.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, err := p.uplink(ctx, f, n, s)
	if err != nil {
		return err
	}
	defer ready.Close()
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	defer out.Close()
	argv := p.proxyCommand()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{proxyCookie(n.Key)}, "/", s.files
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return sdk.Errorf(sdk.Internal, "start the sandbox's network proxy: %v; build it with make runtime, or say where it is with SEER_ARTIFACTS_DIR", err)
	}
	n.NetProxy.Process.PID = cmd.Process.Pid
	n.NetProxy.Process.Start, _ = startOf(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	_ = in.Close()
	s.close() // so that the end of the network proxy is that of its pipe
	if _, err := out.Write(s.config.Encode()); err != nil {
		return fmt.Errorf("tell the sandbox's network proxy what to do: %w", err)
	}
	return ready.wait(ctx)
}

// mendProxy starts a network proxy again that has died before its machine.
func (p *provider) mendProxy(ctx context.Context, handle string, f folder) error {
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return err
	}
	defer lock.Release()
	n, err := f.read()
	if err != nil || n == nil || n.NetProxy == nil || alive(n.NetProxy.Process) {
		return err
	}
	// One that was started by a program which then died is not in the note.
	if found, err := carriers(proxyCookie(n.Key)); err != nil {
		return err
	} else if len(found) > 0 {
		n.NetProxy.Process = found[0]
		return f.write(n)
	}
	had := slices.Clone(n.NetProxy.Ports)
	s, err := n.NetProxy.again(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	for i, before := range had {
		if port := &n.NetProxy.Ports[i]; port.Outside != before.Outside {
			port.Former = append(slices.DeleteFunc(port.Former, func(p int) bool { return p == port.Outside }), before.Outside)
		}
	}
	if err := s.reachable(f); err != nil {
		return err
	}
	machine := []process{n.Outer}
	if inner, ok := f.inner(n.Key); ok {
		machine = append(machine, inner)
	}
	if err := p.openProxy(ctx, f, n, s, machine...); err != nil {
		return err
	}
	p.Logger.Warn("the network proxy of a machine had died and was started again", "key", n.Key, "ports", n.NetProxy.ways())
	return f.write(n)
}

// again opens the ports that a network proxy had. What was killed may hold them for a moment after
// it counts as dead, and so may somebody else; another one is taken only of those that
// stay taken.
func (g *proxyNote) again(ctx context.Context) (s *sockets, err error) {
	until(ctx, 2*time.Second, func() bool { s, err = g.listen(false); return err == nil })
	if err != nil && ctx.Err() == nil {
		s, err = g.listen(true)
	}
	return s, err
}

// ways are the ports with where they are now.
func (g *proxyNote) ways() []string {
	var all []string
	for _, port := range g.Ports {
		all = append(all, fmt.Sprintf("%d at 127.0.0.1:%d", port.Port, port.Outside))
	}
	return all
}
