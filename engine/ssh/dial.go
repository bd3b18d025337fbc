package ssh

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/ssh/pipe"
	"github.com/seer-engine/seer/sdk"
)

// Route is a way to where a target can be connected to: a command on a host that serves
// connections over its standard input and output.
type Route struct {
	Host    string   `json:"host"`
	Command []string `json:"command,omitempty"` // default [ProgramArg] pipe
}

func (r Route) key() string { return r.Host + "\x00" + strings.Join(r.Command, "\x00") }

// Dial connects to a target behind a route: unix:/absolute/path or tcp:PORT. The connections
// of a route share one process; when that is dead, another one is started. An error is an
// *[Error], or an [sdk.Error] where the target cannot be connected to.
func (c *Client) Dial(ctx context.Context, route Route, target string) (net.Conn, error) {
	for again := false; ; again = true {
		session, err := c.piped(route).session(ctx, c)
		if err != nil {
			return nil, err
		}
		conn, err := session.Open(ctx, target)
		var refused *pipe.Refused
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &refused):
			return nil, sdk.Errorf(sdk.Unavailable, "on %s: %v", route.Host, err)
		}
		session.lost(c, route.Host)
		if again {
			return nil, errorf(route.Host, Lost, "%v; try again when it can be reached", err)
		}
	}
}

func (c *Client) piped(route Route) *piped {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pipes[route.key()]
	if p == nil {
		p = &piped{route: route, turn: make(chan struct{}, 1)}
		c.pipes[route.key()] = p
	}
	return p
}

// piped is the session of a route, while there is one.
type piped struct {
	route Route
	turn  chan struct{} // who begins a session
	mu    sync.Mutex
	have  *session
}

func (p *piped) live() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have == nil {
		return nil
	}
	select {
	case <-p.have.Done():
		return nil
	default:
		return p.have
	}
}

func (p *piped) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have != nil {
		_ = p.have.Close()
	}
}

// session returns the session of the route, and begins one where there is none.
func (p *piped) session(ctx context.Context, c *Client) (*session, error) {
	if s := p.live(); s != nil {
		return s, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := p.live(); s != nil {
		return s, nil
	}
	if p.have != nil { // only changed by whose turn it is
		p.have.lost(c, p.route.Host)
	}
	s, err := c.begin(ctx, p.route)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have = s
	return s, nil
}

// session is a process of ssh whose far end serves connections.
type session struct {
	*pipe.Session
	once sync.Once
}

// lost ends a session that does not answer, and the connection below it: that is dead too.
func (s *session) lost(c *Client, host string) {
	s.once.Do(func() {
		_ = s.Close()
		c.check(host)
	})
}

// check ends the connection that OpenSSH keeps to a host where that is dead.
func (c *Client) check(host string) {
	if !c.answers(host) {
		c.forget(host)
	}
}

// answerLimit is how long a living connection takes to run nothing.
const answerLimit = 5 * time.Second

// answers reports whether the connection that OpenSSH keeps still leads to the host.
func (c *Client) answers(host string) bool {
	if !c.shared(host) {
		return true // there is none that could be dead
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	_, err := c.runNow(ctx, host, ":", Command{})
	return err == nil
}

// begin starts the process of a route.
func (c *Client) begin(ctx context.Context, route Route) (*session, error) {
	command := route.Command
	if len(command) == 0 {
		command = []string{ProgramArg, "pipe"}
	}
	argv, err := c.resolve(ctx, route.Host, command)
	if err == nil {
		err = c.connect(ctx, route.Host)
	}
	if err != nil {
		return nil, err
	}
	mark := rand.Text()
	script := "echo " + mark + "; echo " + mark + " >&2; exec " + quote(argv)
	cmd := c.command(context.WithoutCancel(ctx), append(c.args(route.Host, "BatchMode=yes", "ControlMaster=no"), "--", route.Host, remote(script)))
	said := &marked{mark: mark, limit: MaxOutput, full: func() {}}
	cmd.Stderr = said
	stdio, err := start(cmd)
	if err != nil {
		return nil, errorf(route.Host, NoSSH, "%v; install OpenSSH's client", err)
	}
	if err := stdio.awaitMark(ctx, mark, c.o.ConnectTimeout); err != nil {
		_ = stdio.Close()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errSilent):
			c.check(route.Host)
			return nil, errorf(route.Host, TimedOut, "it did not answer within %v; see whether it is up and can be reached from this network", c.o.ConnectTimeout)
		}
		return nil, c.classify(route.Host, said.before())
	}
	s, err := pipe.Begin(stdio)
	if err != nil {
		_ = stdio.Close()
		return nil, errorf(route.Host, Lost, "%v", err)
	}
	go func() {
		<-s.Done()
		_ = stdio.Close()
		if said.begun() && strings.Contains(string(said.bytes()), argv[0]) {
			c.forgetProgram(route.Host) // it may be gone
		}
	}()
	return &session{Session: s}, nil
}

// stdio is the standard input and output of a process.
type stdio struct {
	io.WriteCloser
	from *bufio.Reader
	cmd  *exec.Cmd
	wait func() // until the process has ended
}

func start(cmd *exec.Cmd) (*stdio, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &stdio{WriteCloser: in, from: bufio.NewReaderSize(out, 64<<10), cmd: cmd, wait: sync.OnceFunc(func() { _ = cmd.Wait() })}, nil
}

func (s *stdio) Read(p []byte) (int, error) { return s.from.Read(p) }

// Close ends the process.
func (s *stdio) Close() error {
	_ = s.WriteCloser.Close()
	_ = s.cmd.Process.Kill()
	s.wait()
	return nil
}

var errSilent = errors.New("it says nothing")

// awaitMark reads up to the mark. What the start-up files of a shell say comes before.
func (s *stdio) awaitMark(ctx context.Context, mark string, limit time.Duration) error {
	found := make(chan error, 1)
	go func() {
		for {
			line, err := s.from.ReadSlice('\n')
			if err == nil && strings.HasSuffix(string(line), mark+"\n") {
				found <- nil
				return
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				s.wait() // so that all that it said is there
				found <- err
				return
			}
		}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-found:
		return err
	case <-timer.C:
		return errSilent
	case <-ctx.Done():
		return ctx.Err()
	}
}
