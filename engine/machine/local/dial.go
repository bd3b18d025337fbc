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
// nothing else, and mends as Observe does what the machine is reached by. The error is an
// [sdk.Error] with the code not_found where no machine is reached there.
func Dial(ctx context.Context, in sdk.Provider, target string) (net.Conn, error) {
	p, ok := in.(*provider)
	if !ok {
		return nil, sdk.Errorf(sdk.Unsupported, "connect to %q: these are not machines of this computer", target)
	}
	handle, network, address, err := locate(p, target)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if seen := p.observe(ctx, handle); seen.State != sdk.Running {
		return nil, sdk.Errorf(sdk.Unavailable, "the machine %s is %s; %s", handle, seen.State, seen.Message)
	}
	return d.DialContext(ctx, network, address)
}

// locate finds the machine that is reached at a target, and where that is now: the folder for
// sockets may have been another one when the target was told.
func locate(p *provider, target string) (handle, network, address string, err error) {
	if path, ok := strings.CutPrefix(target, "unix:"); ok && filepath.Base(path) == "s" && filepath.Clean(path) == path {
		handle = filepath.Base(filepath.Dir(path))
		if f := p.folder(handle); validHandle(handle) && f.noted() {
			return handle, "unix", f.socket(), nil
		}
	}
	if text, ok := strings.CutPrefix(target, "tcp:"); ok {
		if port, err := strconv.Atoi(text); err == nil && port > 0 && port < 65536 {
			handle, err := withPort(p, port)
			return handle, "tcp", net.JoinHostPort("127.0.0.1", text), err
		}
	}
	return "", "", "", sdk.Errorf(sdk.NotFound, "no machine of this user is reached at %q", target)
}

func (f folder) noted() bool {
	n, err := f.read()
	return err == nil && n != nil
}

// withPort is the machine that has a port of this computer.
func withPort(p *provider, port int) (string, error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	for _, entry := range entries {
		handle, isNote := strings.CutSuffix(entry.Name(), ".json")
		if !isNote || !validHandle(handle) {
			continue
		}
		f := p.folder(handle)
		n, err := f.read()
		if err == nil && n != nil && n.reachedAt(port) && f.lives(n) {
			return handle, nil
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "no machine of this user has port %d", port)
}

// reachedAt reports whether a port of this computer is the machine's.
func (n *note) reachedAt(port int) bool {
	if n.NetProxy == nil {
		return slices.Contains(n.Ports, port)
	}
	return slices.ContainsFunc(n.NetProxy.Ports, func(p proxyPort) bool { return p.Outside == port })
}
