package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/internal/testkit"
)

// begin serves a session over a pipe, with what answers targets.
func begin(t *testing.T, dial pipe.Dialer) (*pipe.Session, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pipe.Serve(t.Context(), far, dial) }()
	s, err := pipe.Begin(near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; err != nil && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s, near
}

// to connects to whatever listens, whatever the target is.
func to(l net.Listener) pipe.Dialer {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}
}

func TestBothWaysWithHalves(t *testing.T) {
	t.Parallel()
	for _, l := range []net.Listener{testkit.Loopback(t), testkit.UnixSocket(t)} {
		// Answers only when all has been read: that needs the end of what is sent.
		testkit.Serve(l, func(conn net.Conn) {
			data, _ := io.ReadAll(conn)
			_, _ = conn.Write(data)
		})
		s, _ := begin(t, to(l))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				conn, err := s.Open(t.Context(), "tcp:1")
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				data := bytes.Repeat([]byte("0123456789"), 20_000)
				if _, err := conn.Write(data); err != nil {
					t.Error(err)
				}
				if err := conn.(pipe.Conn).CloseWrite(); err != nil {
					t.Error(err)
				}
				if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
				}
			})
		}
		all.Wait()
	}
}

// What the other end sends before it closes arrives, and then its end.
func TestTheFarEndCloses(t *testing.T) {
	t.Parallel()
	l := testkit.Serve(testkit.Loopback(t), testkit.Say("goodbye"))
	s, _ := begin(t, to(l))
	conn, err := s.Open(t.Context(), "tcp:1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "goodbye" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCutIsNoEnd(t *testing.T) {
	t.Parallel()
	l := testkit.Serve(testkit.Loopback(t), testkit.Echo)
	s, under := begin(t, to(l))
	conn, err := s.Open(t.Context(), "tcp:1")
	if err != nil {
		t.Fatal(err)
	}
	_ = under.Close()
	if _, err := io.ReadAll(conn); err == nil {
		t.Error("a cut is taken for an end")
	}
	<-s.Done()
	if _, err := s.Open(t.Context(), "tcp:1"); err == nil {
		t.Error("opened after the end")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, func(context.Context, string) (net.Conn, error) {
		return nil, errors.New("no\nway " + strings.Repeat("x", 1<<16))
	})
	for target, want := range map[string]string{
		"tcp:1": "connect to tcp:1 there: no way xxx", "tcp:0": "neither unix:/path nor tcp:PORT", "unix:x": "neither", "": "neither",
		"unix:/" + strings.Repeat("a", 600): "neither", "unix:/a\nb": "neither",
	} {
		_, err := s.Open(t.Context(), target)
		var refused *pipe.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || len(err.Error()) > 8<<10 {
			t.Errorf("%.50q: %v", target, err)
		}
	}
}

// Whoever waits for an answer that does not come can give up.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s, _ := begin(t, func(ctx context.Context, _ string) (net.Conn, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := s.Open(ctx, "tcp:1"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// writes keeps what is written, each on its own.
type writes struct {
	net.Conn
	mu  sync.Mutex
	all [][]byte
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.all = append(w.all, bytes.Clone(p))
	w.mu.Unlock()
	return w.Conn.Write(p)
}

// What is sent is one write with its header, in both directions: each is a message of its own
// where a stream is one of messages.
func TestFramesAreOneWrite(t *testing.T) {
	t.Parallel()
	one, other := net.Pipe()
	near, far := &writes{Conn: one}, &writes{Conn: other}
	l := testkit.Serve(testkit.Loopback(t), testkit.Echo)
	go func() { _ = pipe.Serve(t.Context(), far, to(l)) }()
	s, err := pipe.Begin(near)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := s.Open(t.Context(), "tcp:1")
	if err != nil {
		t.Fatal(err)
	}
	const text = "what is sent and comes back"
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(text))); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*writes{"near": near, "far": far} {
		w.mu.Lock()
		found := false
		for _, p := range w.all {
			found = found || len(p) == 12+len(text) && bytes.HasSuffix(p, []byte(text))
		}
		if !found {
			t.Errorf("%s end: %q", name, w.all)
		}
		w.mu.Unlock()
	}
}
