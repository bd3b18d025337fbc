// Package pipe carries many connections over one stream of bytes, such as the standard input
// and output of a program on another computer.
//
// A connection begins with one line, its target: unix:/absolute/path or tcp:PORT. The answer
// is a line, too: ok, or error: and why. Then bytes go both ways. A side that has sent all
// closes its half, and may receive for five more minutes.
//
// "where " before a target asks only where it is: the answer is ok and the path of its socket.
package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/seer-engine/seer/sdk"
)

// Limits of what the other side may do.
const (
	maxTarget = 512              // bytes of a target
	maxAnswer = 4 << 10          // bytes of an answer
	openLimit = 15 * time.Second // from the beginning of a connection to its answer
)

func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = 5 * time.Second
	c.ConnectionWriteTimeout = 10 * time.Second // also how long the answer to a keep-alive may take
	c.MaxStreamWindowSize = 4 << 20             // a long way has much under way
	c.LogOutput = io.Discard
	return c
}

// CheckTarget says whether text is a target.
func CheckTarget(text string) error {
	if path, ok := strings.CutPrefix(text, "unix:/"); ok && !strings.ContainsAny(path, "\n\x00") && len(text) <= maxTarget {
		return nil
	}
	if port, ok := strings.CutPrefix(text, "tcp:"); ok {
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 65536 {
			return nil
		}
	}
	return fmt.Errorf("%.100q is neither unix:/path nor tcp:PORT", text)
}

// Dialer makes the connection that a target names.
type Dialer func(ctx context.Context, target string) (net.Conn, error)

// Serve answers the connections of one stream until that ends.
func Serve(ctx context.Context, stream io.ReadWriteCloser, dial Dialer) error {
	session, err := yamux.Server(&joined{ReadWriteCloser: stream}, config())
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		conn, err := session.AcceptStreamWithContext(ctx)
		if err != nil {
			if ended(err) {
				return nil
			}
			return err
		}
		go serveOne(ctx, Conn{conn, session}, dial)
	}
}

// ended reports whether the far end has ended a session. It may have gone while something was
// written to it.
func ended(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, yamux.ErrSessionShutdown, io.ErrClosedPipe, syscall.EPIPE}, func(target error) bool {
		return errors.Is(err, target)
	})
}

func serveOne(ctx context.Context, conn Conn, dial Dialer) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(openLimit))
	line, err := readLine(conn, maxTarget)
	if err != nil {
		return
	}
	target, asked := strings.CutPrefix(line, wherePrefix)
	if err = CheckTarget(target); err == nil {
		ctx, cancel := context.WithTimeout(ctx, openLimit)
		defer cancel()
		var to net.Conn
		if to, err = dial(ctx, target); err == nil {
			defer to.Close()
			if asked {
				_, _ = fmt.Fprintf(conn, "ok %s\n", to.RemoteAddr())
				return
			}
			if _, err := io.WriteString(conn, "ok\n"); err == nil {
				_ = conn.SetDeadline(time.Time{})
				Relay(conn, to)
			}
			return
		}
	}
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	_, _ = fmt.Fprintf(conn, "error: %.*s\n", maxAnswer-16, text)
}

// readLine reads a line, and not one byte of what follows.
func readLine(r io.Reader, limit int) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) <= limit; {
		if _, err := io.ReadFull(r, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return "", fmt.Errorf("a line of more than %d bytes", limit)
}

const wherePrefix = "where "

// A Session is the near end of a stream whose far end is served by [Serve].
type Session struct {
	// Shortcut makes a connection to a target on a shorter way; nil and no error where there is none.
	// Its errors are those of Open. It is set before the session is used; nil = there is none.
	Shortcut func(ctx context.Context, target string) (net.Conn, error)

	// LastWords is what the program at the far end said before the session ended, or nothing. It
	// follows the end. It is set before the session is used; nil = nobody heard anything.
	LastWords func() string

	mux *yamux.Session
}

// Begin begins a session, which closes the stream when it ends.
func Begin(stream io.ReadWriteCloser) (*Session, error) {
	mux, err := yamux.Client(&joined{ReadWriteCloser: stream}, config())
	if err != nil {
		return nil, err
	}
	return &Session{mux: mux}, nil
}

// Refused is the error of [Session.Open] when the far end does not make the connection. It wraps
// an [sdk.Error] for plugins.
type Refused struct{ Host, Target, Why string }

func (e *Refused) Error() string {
	text := fmt.Sprintf("connect to %s there: %s", e.Target, e.Why)
	if e.Host != "" {
		text = "on " + e.Host + ": " + text
	}
	return text
}

// Unwrap is the error for plugins.
func (e *Refused) Unwrap() error { return sdk.Errorf(sdk.Unavailable, "%s", e.Error()) }

// On is the error with the name of where the far end is.
func (e *Refused) On(host string) *Refused { return &Refused{host, e.Target, e.Why} }

// Open makes a connection to a target. An error other than [*Refused] is one of the session.
func (s *Session) Open(ctx context.Context, target string) (net.Conn, error) {
	if s.Shortcut != nil {
		if conn, err := s.Shortcut(ctx, target); conn != nil || err != nil {
			return conn, err
		}
	}
	conn, _, err := s.ask(ctx, "", target)
	return conn, err
}

// Where is the path of the socket behind a target of the kind unix, as the far end finds it. Its
// errors are those of [Session.Open].
func (s *Session) Where(ctx context.Context, target string) (string, error) {
	conn, path, err := s.ask(ctx, wherePrefix, target)
	if err != nil {
		return "", err
	}
	return path, conn.Close()
}

// Ping waits for a sign of the far end.
func (s *Session) Ping() error {
	_, err := s.mux.Ping()
	return err
}

// ask sends the first line of a connection, and returns what its answer says behind ok.
func (s *Session) ask(ctx context.Context, prefix, target string) (_ net.Conn, said string, err error) {
	if err := CheckTarget(target); err != nil {
		return nil, "", &Refused{Target: target, Why: err.Error()}
	}
	stream, err := s.mux.OpenStream()
	if err != nil {
		return nil, "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = stream.SetDeadline(time.Now().Add(openLimit + 5*time.Second))
	_, err = io.WriteString(stream, prefix+target+"\n")
	answer := ""
	if err == nil {
		answer, err = readLine(stream, maxAnswer)
	}
	said, fine := strings.CutPrefix(answer, "ok")
	if err == nil && !fine {
		why, _ := strings.CutPrefix(answer, "error: ")
		err = &Refused{Target: target, Why: why}
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = stream.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, "", err
	}
	_ = stream.SetDeadline(time.Time{})
	return Conn{stream, s.mux}, strings.TrimPrefix(said, " "), nil
}

// explain adds to the error of a session that has ended what the far end said.
func (s *Session) explain(err error) error {
	if s.LastWords == nil {
		return err
	}
	if words := s.LastWords(); words != "" {
		return fmt.Errorf("%s (%w)", words, err)
	}
	return err
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Close ends the session and its connections.
func (s *Session) Close() error { return s.mux.Close() }

// Conn is a connection of a session. Close ends only what is sent, as the far end sees it.
type Conn struct {
	*yamux.Stream
	session *yamux.Session
}

// Read tells the end of what the far end has sent from the end of the session.
func (c Conn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if errors.Is(err, io.EOF) && c.session.IsClosed() {
		err = errCut
	}
	return n, err
}

var errCut = errors.New("the connection was cut")

// CloseWrite ends what is sent.
func (c Conn) CloseWrite() error { return c.Stream.Close() }

// Relay carries bytes both ways until both have ended, and passes the end of each on. An error
// ends both at once.
func Relay(one, other net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { carry(one, other) })
	both.Go(func() { carry(other, one) })
	both.Wait()
}

func carry(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		abort(to)
		abort(from)
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// abort closes a connection so that its other end does not take it for a usual end, where
// there is a way to say so.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.SetDeadline(time.Unix(1, 0)) // which ends all waits for it
	_ = conn.Close()
}
