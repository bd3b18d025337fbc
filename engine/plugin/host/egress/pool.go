package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/seer-engine/seer/sdk"
)

// pool keeps one gRPC connection for each destination.
type pool struct {
	public, anywhere *dialer
	tls              *tls.Config
	headerBytes      uint32

	mu     sync.Mutex
	conns  map[target]*conn
	closed bool
}

// target is where and how to connect.
type target struct {
	origin origin
	users  bool // may be private
	plain  bool // without TLS
}

// conn is a connection that is made when it is needed, and again when it breaks.
type conn struct {
	*grpc.ClientConn
	users   int
	idle    time.Time
	private atomic.Bool // the address it was last made to
	refusal atomic.Pointer[sdk.Error]
}

const maxConns = 32 // kept without users

// rawCodec passes messages through. Its name makes the content type
// application/grpc+proto.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, b...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

func (p *pool) get(t target) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, sdk.Errorf(sdk.Unavailable, "the plugin host has been closed")
	}
	if c := p.conns[t]; c != nil {
		c.users++
		return c, nil
	}
	c, err := p.connect(t)
	if err != nil {
		return nil, err
	}
	if p.conns == nil {
		p.conns = map[target]*conn{}
	}
	p.shrink()
	c.users = 1
	p.conns[t] = c
	return c, nil
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.users--
	c.idle = time.Now()
}

// shrink closes the connection that was not used for longest.
func (p *pool) shrink() {
	if len(p.conns) < maxConns {
		return
	}
	var oldest target
	var found *conn
	for t, c := range p.conns {
		if c.users == 0 && (found == nil || c.idle.Before(found.idle)) {
			oldest, found = t, c
		}
	}
	if found != nil {
		delete(p.conns, oldest)
		found.Close()
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for t, c := range p.conns {
		delete(p.conns, t)
		c.Close()
	}
}

// connect makes a client. It connects at the first call.
func (p *pool) connect(t target) (*conn, error) {
	secure := insecure.NewCredentials()
	if !t.plain {
		config := p.tls.Clone()
		config.ServerName = t.origin.host // the name, whatever address is dialled
		secure = credentials.NewTLS(config)
	}
	c := &conn{}
	d := p.public
	if t.users {
		d = p.anywhere
	}
	var err error
	c.ClientConn, err = grpc.NewClient("passthrough:///"+t.origin.addr(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return c.dial(ctx, d, addr) }),
		grpc.WithTransportCredentials(secure),
		grpc.WithDisableServiceConfig(),
		grpc.WithMaxHeaderListSize(p.headerBytes),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: d.timeout,
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second}}),
		// Finds a connection dead after a sleep of the computer; rare enough for servers
		// that count pings.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}),
			grpc.MaxCallRecvMsgSize(sdk.MaxMessage), grpc.MaxCallSendMsgSize(sdk.MaxMessage)))
	return c, err
}

// dial remembers what a call has to know: to what kind of address it speaks, and
// whether the host refused.
func (c *conn) dial(ctx context.Context, d *dialer, addr string) (net.Conn, error) {
	made, err := d.dial(ctx, "tcp", addr)
	var refusal *sdk.Error
	errors.As(err, &refusal)
	c.refusal.Store(refusal)
	if err != nil {
		return nil, err
	}
	remote, err := netip.ParseAddrPort(made.RemoteAddr().String())
	c.private.Store(err == nil && !public(remote.Addr()))
	return made, nil
}
