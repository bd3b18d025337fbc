package local

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Dial connects to where an [sdk.Observation] of a provider that [New] has made says that a port
// of a machine is reached: unix:/path, or tcp:PORT for http://127.0.0.1:PORT. It connects to
// nothing else, and mends as Observe does what the machine is reached by. The remote address of a
// connection to a socket is its whole path. The error is an
// [sdk.Error] with the code not_found where no machine is reached there.
func Dial(ctx context.Context, in sdk.Provider, target string) (net.Conn, error) {
	p, ok := in.(*provider)
	if !ok {
		return nil, sdk.Errorf(sdk.Unsupported, "connect to %q: these are not machines of this computer", target)
	}
	handle, network, address, err := locate(ctx, p, target)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if seen := p.observe(ctx, handle); seen.State != sdk.Running {
		return nil, sdk.Errorf(sdk.Unavailable, "the machine %s is %s; %s", handle, seen.State, seen.Message)
	}
	if _, network, address, err = locate(ctx, p, target); err != nil {
		return nil, err
	}
	return dial(ctx, network, address)
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if unix, ok := conn.(*net.UnixConn); ok {
		return unixConn{unix, address}, nil
	}
	return conn, err
}

// unixConn is a connection that knows the path of its socket. The system knows the name by which
// the machine has bound it, which is relative.
type unixConn struct {
	*net.UnixConn
	path string
}

func (c unixConn) RemoteAddr() net.Addr { return &net.UnixAddr{Name: c.path, Net: "unix"} }

// locate finds the machine that is reached at a target, and where that is now: the folder for
// sockets may have been another one when the target was told, and the network proxy may have been started
// again with other ports.
func locate(ctx context.Context, p *provider, target string) (handle, network, address string, err error) {
	if path, ok := strings.CutPrefix(target, "unix:"); ok && filepath.Base(path) == "s" && filepath.Clean(path) == path {
		handle = filepath.Base(filepath.Dir(path))
		if f := p.folder(handle); validHandle(handle) && f.noted() {
			return handle, "unix", f.socket(), nil
		}
	}
	if text, ok := strings.CutPrefix(target, "tcp:"); ok {
		if port, err := strconv.Atoi(text); err == nil && port > 0 && port < 65536 {
			handle, port, err := withPort(ctx, p, port)
			return handle, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
		}
	}
	return "", "", "", sdk.Errorf(sdk.NotFound, "no machine of this user is reached at %q", target)
}

func (f folder) noted() bool {
	n, err := f.read()
	return err == nil && n != nil
}

// withPort is the machine that has a port of this computer, or had it before its network proxy was started
// again, and the port that it has now in its place.
func withPort(ctx context.Context, p *provider, port int) (handle string, now int, err error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !os.IsNotExist(err) {
		return "", 0, err
	}
	before := ""
	for _, entry := range entries {
		handle, isNote := strings.CutSuffix(entry.Name(), ".json")
		if !isNote || !validHandle(handle) {
			continue
		}
		f := p.folder(handle)
		n, err := f.read()
		if err != nil || n == nil || n.reachedAt(port) == 0 || !f.lives(n) {
			continue
		}
		if n.NetProxy != nil && !alive(n.NetProxy.Process) { // by now another program may have its ports
			p.observe(ctx, handle)
			if n, err = f.read(); err != nil || n == nil || n.NetProxy == nil || !alive(n.NetProxy.Process) {
				return "", 0, sdk.Errorf(sdk.Unavailable, "the ports of the machine %s cannot be reached now", handle)
			}
		}
		if at := n.reachedAt(port); at == port {
			return handle, at, nil
		} else if now == 0 {
			before, now = handle, at
		}
	}
	if now != 0 {
		return before, now, nil
	}
	return "", 0, sdk.Errorf(sdk.NotFound, "no machine of this user has port %d", port)
}

// reachedAt is the port of this computer by which the machine is reached in place of one that it
// has or had; 0 = it has not had that.
func (n *note) reachedAt(port int) int {
	if n.NetProxy == nil {
		if slices.Contains(n.Ports, port) {
			return port
		}
		return 0
	}
	now := 0
	for _, p := range n.NetProxy.Ports {
		if p.Outside == port {
			return port
		}
		if slices.Contains(p.Former, port) {
			now = p.Outside
		}
	}
	return now
}
