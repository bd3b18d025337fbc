package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/pipe"
)

// Route is a way to where a target can be connected to: a command on a host that serves
// connections over its standard input and output.
type Route struct {
	Host    string   `json:"host"`
	Command []string `json:"command,omitempty"` // default [ProgramArg] pipe
}

// Key is the same for routes that are the same.
func (r Route) Key() string { return r.Host + "\x00" + strings.Join(r.Command, "\x00") }

// Dial connects to a target behind a route: unix:/absolute/path or tcp:PORT. The connections
// of a route share one process; when that is dead, another one is started. An error is an
// *[Error], or a *[pipe.Refused] where the target cannot be connected to.
func (c *Client) Dial(ctx context.Context, route Route, target string) (net.Conn, error) {
	conn, err := c.pipes.Dial(ctx, route.Key(), way{c, route}, target)
	var (
		cut     *pipe.Cut
		refused *pipe.Refused
	)
	switch {
	case errors.As(err, &cut):
		return nil, errorf(route.Host, Lost, "%v; try again when it can be reached", err)
	case errors.As(err, &refused):
		return nil, refused.On(route.Host)
	}
	return conn, err
}

// way begins sessions: processes of ssh whose far ends serve connections.
type way struct {
	c     *Client
	route Route
}

func (w way) Begin(ctx context.Context) (*pipe.Session, error) { return w.c.begin(ctx, w.route) }

func (w way) Lost() { w.c.check(w.route.Host) }

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
func (c *Client) begin(ctx context.Context, route Route) (*pipe.Session, error) {
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
	stdio, err := pipe.StartProcess(cmd)
	if err != nil {
		return nil, errorf(route.Host, NoSSH, "%v; install OpenSSH's client", err)
	}
	if err := stdio.AwaitMark(ctx, mark, c.o.ConnectTimeout); err != nil {
		_ = stdio.Close()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, pipe.ErrSilent):
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
	c.shorten(route.Host, s)
	ended := make(chan struct{})
	s.LastWords = func() string {
		<-ended
		lines := strings.Split(strings.TrimSpace(string(said.bytes())), "\n")
		return lines[len(lines)-1]
	}
	go func() {
		<-s.Done()
		_ = stdio.Close()
		close(ended)
		if said.begun() && strings.Contains(string(said.bytes()), argv[0]) {
			c.forgetProgram(route.Host) // it may be gone
		}
	}()
	return s, nil
}
