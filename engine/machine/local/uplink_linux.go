package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/sdk"
)

// connecting is the word of a network proxy that the network is connected; nil = there is nothing
// to wait for.
type connecting struct{ words *os.File }

// uplink gives the network proxy what it needs to connect the machine's network.
func (p *provider) uplink(ctx context.Context, f folder, n *note, s *sockets) (*connecting, error) {
	if !n.NetProxy.connected() {
		return nil, nil
	}
	namespace, pid, err := p.namespace(ctx, f, n)
	if err != nil {
		return nil, err
	}
	u := &netproxy.Uplink{Namespace: s.add(namespace), PID: pid, Tool: n.NetProxy.Tool}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	u.Ready = s.add(write)
	s.config.Uplink = u
	return &connecting{read}, nil
}

// namespace finds the machine's network namespace, and a process in it. A machine that has
// just been started makes it now.
func (p *provider) namespace(ctx context.Context, f folder, n *note) (namespace *os.File, pid int, err error) {
	found := until(ctx, time.Minute, func() bool {
		inside, ok := n.Outer, true
		if n.Isolation == isolation.Bubblewrap {
			inside, ok = f.inner(n.Key)
		}
		if ok {
			pid = inside.PID
			namespace, err = netproxy.NamespaceOf(pid)
		}
		return ok && err == nil || !alive(n.Outer)
	})
	if namespace != nil {
		return namespace, pid, nil
	}
	if !found {
		return nil, 0, fmt.Errorf("find the network of the sandbox: %w", err)
	}
	return nil, 0, sdk.Errorf(sdk.Internal, "the machine ended at once: %s", lastLine(f.path("log")))
}

// wait returns when the network is connected.
func (c *connecting) wait(ctx context.Context) error {
	if c == nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = c.words.Close() })()
	words, _ := io.ReadAll(io.LimitReader(c.words, 4096)) // what cannot be read was not said
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case string(words) == netproxy.Connected:
		return nil
	case len(words) > 0:
		return sdk.Errorf(sdk.Unavailable, "connect the sandbox to the Internet: %s; set network: none, or a list of hosts", words)
	}
	return sdk.Errorf(sdk.Unavailable, "connect the sandbox to the Internet: its network proxy ended before it was done; start the sandbox again")
}

// Close is for all that was not waited for.
func (c *connecting) Close() {
	if c != nil {
		_ = c.words.Close()
	}
}
