package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/pipe"
)

// direct has OpenSSH itself carry connections to sockets on a host, where the host allows it:
// they then pass through no process of Seer there. The pipe stays: it finds the socket of a
// target, notices that the host is away, and carries whatever cannot be carried directly.
type direct struct {
	c    *Client
	host string
	pipe *pipe.Session
	ctx  context.Context // ends with the pipe
	end  context.CancelFunc

	mu    sync.Mutex
	lanes map[string]*lane // by target
	work  sync.WaitGroup   // what makes and ends lanes; it begins before end, under mu
}

// lane is a socket of this computer behind which OpenSSH connects to one on the host.
type lane struct {
	local, remote string // empty while it is being made, and where the host forbids it
}

// laneLimit is how long it may take to make a lane.
const laneLimit = 20 * time.Second

// shorten gives a pipe the shortcut by OpenSSH.
func (c *Client) shorten(host string, s *pipe.Session) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &direct{c: c, host: host, pipe: s, ctx: ctx, end: cancel, lanes: map[string]*lane{}}
	s.Shortcut = d.connect
	c.mu.Lock()
	defer c.mu.Unlock()
	c.directs[d] = true
	go func() {
		<-s.Done()
		d.close()
	}()
}

// close ends the lanes of a pipe that has ended. It is idempotent, and returns when they are gone.
func (d *direct) close() {
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	d.work.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lanes {
		d.c.unlink(d.host, l)
	}
	clear(d.lanes)
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	delete(d.c.directs, d)
}

// closeDirects ends the lanes of all pipes that have ended.
func (c *Client) closeDirects() {
	c.mu.Lock()
	all := slices.Collect(maps.Keys(c.directs))
	c.mu.Unlock()
	for _, d := range all {
		select {
		case <-d.pipe.Done():
			d.close()
		default:
		}
	}
}

// connect is [pipe.Session.Shortcut]. The first connection to a target has the lane made for those
// after it, and does not wait for it. The pipe is asked each time whether the machine is still
// there, for which OpenSSH has no answer.
func (d *direct) connect(ctx context.Context, target string) (net.Conn, error) {
	l := d.lane(target)
	if l == nil {
		return nil, nil
	}
	remote, err := d.pipe.Where(ctx, target)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if remote == l.remote {
		conn, err = net.DialTimeout("unix", l.local, time.Second)
	}
	if conn == nil || err != nil {
		d.forget(target, l)
		return nil, nil
	}
	stop := context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return &laneConn{UnixConn: conn.(*net.UnixConn), d: d, target: target, lane: l, stop: stop}, nil
}

// lane is the lane of a target; nil while there is none.
func (d *direct) lane(target string) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[target]
	if l == nil && strings.HasPrefix(target, "unix:") && d.ctx.Err() == nil {
		d.lanes[target] = &lane{}
		d.work.Go(func() { d.make(target) })
	}
	if l == nil || l.local == "" {
		return nil
	}
	return l
}

// make makes the lane of a target. Where that fails, the pipe carries the target until it ends.
func (d *direct) make(target string) {
	ctx, cancel := context.WithTimeout(d.ctx, laneLimit)
	defer cancel()
	remote, err := d.pipe.Where(ctx, target)
	if err != nil || !filepath.IsAbs(remote) || strings.ContainsAny(remote, ":\n") {
		return
	}
	l := &lane{d.c.laneName(d.host, remote), remote}
	if !answers(ctx, l.local) { // otherwise a process that was killed has left it
		d.c.unlink(d.host, l)
		if d.ctx.Err() != nil || d.forward(l) != nil || !answers(ctx, l.local) {
			d.c.unlink(d.host, l)
			return
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lanes[target] = l
}

// forward has OpenSSH make a lane. It goes on when the pipe ends: OpenSSH might make what nobody
// waits for any more, after it has been removed.
func (d *direct) forward(l *lane) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	return d.c.control(ctx, d.host, "forward", l)
}

// forget has a lane made again by the next connection, which the pipe carries.
func (d *direct) forget(target string, l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lanes[target] == l && d.ctx.Err() == nil {
		delete(d.lanes, target)
		d.work.Go(func() { d.c.unlink(d.host, l) })
	}
}

// answers reports whether what is behind a lane says anything: a host that forbids it closes the
// connection. Behind each socket of a machine is a server of HTTP.
func answers(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n\r\n"); err != nil {
		return false
	}
	n, _ := conn.Read(make([]byte, 64))
	return n > 0
}

// control asks the process that shares the connection to a host to do something. It reads no
// ssh_config, whose own forwardings it would ask for as well.
func (c *Client) control(ctx context.Context, host, what string, l *lane) error {
	argv := append([]string(nil), c.o.Command[1:]...)
	argv = append(argv, "-F", os.DevNull, "-S", c.socket(host), "-O", what, "-L", l.local+":"+l.remote, "--", host)
	return c.command(ctx, argv).Run()
}

// laneName is the same for the same socket, so that a lane is found again.
func (c *Client) laneName(host, remote string) string {
	key := sha256.Sum256([]byte(remote)) // a path; it may be longer than the name of a socket
	return c.socket(host) + "." + strings.ToLower(base32.StdEncoding.EncodeToString(key[:]))[:10]
}

// unlink ends a lane. Its connections go on.
func (c *Client) unlink(host string, l *lane) {
	if l.local == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	if c.shared(host) {
		_ = c.control(ctx, host, "cancel", l)
	}
	_ = os.Remove(l.local)
}

// laneConn is a connection by a lane. OpenSSH passes a cut on as the end of what is sent, as it
// does where the far end has closed. So the pipe is asked which of both it was.
type laneConn struct {
	*net.UnixConn
	d      *direct
	target string
	lane   *lane
	stop   func() bool

	heard, said atomic.Bool // whether anything has come; whether all has been sent
}

// Read tells a cut from the end of what the far end has sent.
func (c *laneConn) Read(b []byte) (int, error) {
	n, err := c.UnixConn.Read(b)
	switch {
	case n > 0:
		c.heard.Store(true)
	case !errors.Is(err, io.EOF):
	case !c.heard.Load() && !c.said.Load(): // perhaps it has not been connected to at all
		c.d.forget(c.target, c.lane)
		return n, errCut
	case c.d.pipe.Ping() != nil:
		return n, errCut
	}
	return n, err
}

// CloseWrite ends what is sent.
func (c *laneConn) CloseWrite() error {
	c.said.Store(true)
	return c.UnixConn.CloseWrite()
}

var errCut = errors.New("the connection was cut")

// Close closes the connection.
func (c *laneConn) Close() error {
	c.stop()
	return c.UnixConn.Close()
}
