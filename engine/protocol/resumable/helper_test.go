package resumable

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// plan is what a tunnel does with one of its connections.
type plan struct {
	up, down int           // bytes after which it is cut; -1 = never
	silent   bool          // instead of being cut, it says nothing any more
	delay    time.Duration // of every piece
}

var whole = plan{up: -1, down: -1}

// tunnel passes connections on, as long as its plan says.
type tunnel struct {
	listener net.Listener
	target   string
	plan     func(n int) plan
	mu       sync.Mutex
	conns    []net.Conn
	accepted int
	over     bool
	wg       sync.WaitGroup
}

func newTunnel(t testing.TB, target string, plan func(n int) plan) *tunnel {
	t.Helper()
	u := &tunnel{listener: testkit.Loopback(t), target: target, plan: plan}
	u.wg.Go(u.run)
	t.Cleanup(u.close)
	return u
}

func (u *tunnel) close() {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	u.listener.Close()
	u.cut()
	u.wg.Wait()
}

// cut cuts everything that is open.
func (u *tunnel) cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.conns {
		c.Close()
	}
	u.conns = nil
}

func (u *tunnel) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.accepted
}

func (u *tunnel) run() {
	for {
		near, err := u.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", u.target)
		if err != nil {
			near.Close()
			continue
		}
		u.mu.Lock()
		u.conns = append(u.conns, near, far)
		p := u.plan(u.accepted)
		u.accepted++
		if u.over {
			near.Close()
			far.Close()
		}
		u.mu.Unlock()
		u.wg.Go(func() { copySome(far, near, p.up, p) })
		u.wg.Go(func() { copySome(near, far, p.down, p) })
	}
}

func copySome(to, from net.Conn, budget int, p plan) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if budget >= 0 && n >= budget {
			_, _ = to.Write(buf[:budget])
			if p.silent {
				_, _ = io.Copy(io.Discard, from)
			}
			to.Close()
			from.Close()
			return
		}
		budget -= n
		time.Sleep(p.delay)
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// server is a Server behind HTTP, whose sessions handle serves.
type server struct {
	*Server
	http *httptest.Server
	wg   sync.WaitGroup
}

func newServer(t testing.TB, o ServerOptions, handle func(net.Conn)) *server {
	t.Helper()
	s := &server{Server: NewServer(o)}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(Marker, "1")
		if err := s.Serve(w, r, r.Header.Get("Authorization")); err != nil {
			status := http.StatusBadRequest
			if err == ErrUnknown {
				status = http.StatusNotFound
			}
			http.Error(w, err.Error(), status)
		}
	}))
	s.wg.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() {
				handle(c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		s.Shutdown(ctx)
		s.http.CloseClientConnections()
		s.http.Close()
		s.wg.Wait()
	})
	return s
}

func (s *server) address() string { return strings.TrimPrefix(s.http.URL, "http://") }

func echo(c net.Conn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

func dialer(t testing.TB, address string) Dialer {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return Dialer{URL: "http://" + address, Header: http.Header{"Authorization": {"one"}}, HTTP: &http.Client{Transport: transport}}
}

// echoTunnel is a tunnel to a server that sends back what it gets.
func echoTunnel(t testing.TB) (*tunnel, Dialer) {
	t.Helper()
	u := newTunnel(t, newServer(t, ServerOptions{}, echo).address(), func(int) plan { return whole })
	return u, dialer(t, u.listener.Addr().String())
}

func dial(t testing.TB, d Dialer) *Conn {
	t.Helper()
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	b := make([]byte, n)
	r.Read(b)
	return b
}
