package resumable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/seer-engine/seer/internal/testkit"
)

// TestNetConn holds a link to what is asked of every net.Conn.
func TestNetConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		accepted := make(chan net.Conn, 1)
		release := make(chan struct{})
		s := newServer(t, ServerOptions{}, func(c net.Conn) {
			accepted <- c
			<-release
		})
		c, err := dialer(t, s.address()).Dial(context.Background())
		if err != nil {
			return nil, nil, nil, err
		}
		far := <-accepted
		return c, far, func() { c.Close(); far.Close(); close(release) }, nil
	})
}

// exchange sends data there and back and says what is wrong with what came.
func exchange(c *Conn, data []byte) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var werr error
	wg.Go(func() {
		if _, werr = c.Write(data); werr == nil {
			werr = c.CloseWrite()
		}
		if werr != nil {
			c.Close()
		}
	})
	got, err := io.ReadAll(c)
	switch {
	case err != nil:
		return fmt.Errorf("after %d bytes: %w (%v)", len(got), err, werr)
	case !bytes.Equal(got, data):
		return fmt.Errorf("%d bytes came back of %d, and not the same", len(got), len(data))
	}
	return nil
}

// TestCutAtEveryByte cuts the first carrier, and then its successor, behind each
// byte in one direction or the other.
func TestCutAtEveryByte(t *testing.T) {
	s := newServer(t, ServerOptions{PerOwner: 10_000}, echo) // a session between two carriers need not make room
	data := randomBytes(1, 150)
	const most = 650 // beyond the handshake and all that is sent
	step := 1
	if testing.Short() {
		step = 7
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, 32)
	for at := 0; at < most; at += step {
		for _, down := range []bool{false, true} {
			limit <- struct{}{}
			wg.Go(func() {
				defer func() { <-limit }()
				u := newTunnel(t, s.address(), func(n int) plan {
					switch {
					case n > 1:
						return whole
					case down:
						return plan{up: -1, down: at}
					}
					return plan{up: at, down: -1}
				})
				defer u.close()
				d := dialer(t, u.listener.Addr().String())
				d.Linger = time.Millisecond // all has arrived, and soon the port is another's
				c, err := d.Dial(t.Context())
				if err == nil {
					err = exchange(c, data)
					c.Close()
				}
				if err != nil {
					t.Errorf("cut after %d bytes, down=%v: %v", at, down, err)
				}
			})
		}
	}
	wg.Wait()
}

// TestRandomCuts sends much over carriers that are cut at random, delayed or fall
// silent, while others are renewed.
func TestRandomCuts(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{}, echo)
	var wg sync.WaitGroup
	for seed := range uint64(6) {
		wg.Go(func() {
			var mu sync.Mutex
			chance := rand.New(rand.NewPCG(seed, 1))
			u := newTunnel(t, s.address(), func(n int) plan {
				mu.Lock()
				defer mu.Unlock()
				p := plan{up: 500 + chance.IntN(400_000), down: 500 + chance.IntN(400_000), silent: chance.IntN(4) == 0}
				if chance.IntN(3) == 0 {
					p.delay = time.Duration(chance.IntN(3)) * time.Millisecond
				}
				return p
			})
			d := dialer(t, u.listener.Addr().String())
			d.Renew, d.Silence, d.Handshake = 100*time.Millisecond, 300*time.Millisecond, 2*time.Second
			c, err := d.Dial(t.Context())
			if err == nil {
				defer c.Close()
				err = exchange(c, randomBytes(seed, 3<<20))
			}
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			if u.count() < 3 {
				t.Errorf("seed %d: only %d carriers", seed, u.count())
			}
		})
	}
	wg.Wait()
}

// TestRenewal replaces carriers again and again before anything is cut.
func TestRenewal(t *testing.T) {
	t.Parallel()
	u, d := echoTunnel(t)
	d.Renew = 5 * time.Millisecond
	c := dial(t, d)
	buf := make([]byte, 100)
	for i := 0; i < 2000 || u.count() < 20; i++ {
		out := randomBytes(uint64(i), 100)
		if _, err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil || !bytes.Equal(buf, out) {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// TestIdleIsKept shows that a session on which nothing is said is not given up,
// and that one whose carriers fall silent is taken up again.
func TestIdleIsKept(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{Silence: 300 * time.Millisecond}, echo)
	u := newTunnel(t, s.address(), func(n int) plan {
		if n == 0 {
			return plan{up: -1, down: 700, silent: true} // some pongs, then nothing
		}
		return whole
	})
	d := dialer(t, u.listener.Addr().String())
	d.Silence = 200 * time.Millisecond
	c := dial(t, d)
	testkit.Eventually(t, "a second carrier", func() bool { return u.count() >= 2 })
	quiet := time.After(time.Second)
	for waiting := true; waiting; {
		select {
		case <-quiet:
			waiting = false
		case <-c.ended:
			t.Fatal(c.err)
		}
	}
	if err := exchange(c, []byte("still there")); err != nil {
		t.Error(err)
	}
}

func TestBackPressure(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newServer(t, ServerOptions{}, func(c net.Conn) {
		<-release
		echo(c)
	})
	c := dial(t, dialer(t, s.address()))
	n, wrote := 0, make(chan error)
	go func() {
		var err error
		n, err = c.Write(make([]byte, 10<<20))
		wrote <- err
	}()
	testkit.Eventually(t, "a full window", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.out.free() == 0
	})
	_ = c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)) // in which no more is taken
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) || n != Window {
		t.Errorf("%d bytes were taken, error %v", n, err)
	}
	_ = c.SetWriteDeadline(time.Time{})
	close(release)
	go func() { _, _ = c.Write([]byte("end")); c.CloseWrite() }()
	if got, err := io.ReadAll(c); err != nil || len(got) != n+3 {
		t.Errorf("%d bytes came back, error %v", len(got), err)
	}
}

// TestCloseDelivers closes right behind a write, also while there is no carrier.
func TestCloseDelivers(t *testing.T) {
	t.Parallel()
	got := make(chan int, 2)
	s := newServer(t, ServerOptions{}, func(c net.Conn) {
		data, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		got <- len(data)
	})
	u := newTunnel(t, s.address(), func(int) plan { return whole })
	for _, cut := range []bool{false, true} {
		c := dial(t, dialer(t, u.listener.Addr().String()))
		if cut {
			u.cut()
		}
		if _, err := c.Write(make([]byte, 500_000)); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if n := <-got; n != 500_000 {
			t.Errorf("%d bytes arrived", n)
		}
		testkit.Eventually(t, "both ends to forget the session", func() bool { return c.Ended() && len(s.list()) == 0 })
	}
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	u, d := echoTunnel(t)
	d.GiveUp = 100 * time.Millisecond
	c := dial(t, d)
	u.close()
	_, err := c.Read(make([]byte, 1))
	var gave *GaveUpError
	if !errors.As(err, &gave) {
		t.Errorf("%v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.As(err, &gave) {
		t.Errorf("%v", err)
	}
}

// TestLost restarts the server: it knows nothing of the sessions before.
func TestLost(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, ServerOptions{}, echo), newServer(t, ServerOptions{}, echo)
	var mu sync.Mutex
	target := one
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		s := target
		mu.Unlock()
		s.http.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	u := newTunnel(t, front.Listener.Addr().String(), func(int) plan { return whole })
	c := dial(t, dialer(t, u.listener.Addr().String()))
	mu.Lock()
	target = two
	mu.Unlock()
	u.cut()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

func TestExpires(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan bool, 1), make(chan error, 1)
	s := newServer(t, ServerOptions{Expire: 50 * time.Millisecond}, func(c net.Conn) {
		begun <- true
		_, err := io.ReadAll(c)
		ended <- err
	})
	u := newTunnel(t, s.address(), func(int) plan { return whole })
	dial(t, dialer(t, u.listener.Addr().String()))
	<-begun
	u.close()
	if err := <-ended; !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

// TestOwners shows that nobody can go on with a session of somebody else's, and
// that one owner's many sessions do not keep another out.
func TestOwners(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{PerOwner: 3}, echo)
	u := newTunnel(t, s.address(), func(int) plan { return whole })
	d := dialer(t, u.listener.Addr().String())
	var conns []*Conn
	for range 3 {
		conns = append(conns, dial(t, d))
	}
	var refused *RefusedError
	if _, err := d.Dial(t.Context()); !errors.As(err, &refused) || !refused.Ours() {
		t.Errorf("one too many: %v", err)
	}
	other := dialer(t, s.address())
	other.Header = http.Header{"Authorization": {"two"}}
	if err := exchange(dial(t, other), []byte("hello")); err != nil {
		t.Errorf("another owner: %v", err)
	}
	s.mu.Lock()
	var id string
	for k, v := range s.sessions {
		if v.owner == "one" {
			id = k
		}
	}
	s.mu.Unlock()
	thief := &session{Dialer: other.withDefaults(), id: id, conn: newConn("", time.Second)}
	for _, fresh := range []bool{false, true} {
		if _, err := thief.connect(t.Context(), fresh); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			t.Errorf("a stolen session: %v", err)
		}
	}
	for _, c := range conns {
		if err := exchange(c, []byte("mine")); err != nil {
			t.Error(err)
		}
	}
}

// TestEvicts makes room by ending a session whose client is gone.
func TestEvicts(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{PerOwner: 2}, echo)
	u := newTunnel(t, s.address(), func(int) plan { return whole })
	dead := dialer(t, u.listener.Addr().String())
	for range 2 {
		dial(t, dead)
	}
	u.close()
	d := dialer(t, s.address())
	testkit.Eventually(t, "room for a new session", func() bool {
		c, err := d.Dial(t.Context())
		if err != nil {
			return false
		}
		defer c.Close()
		return exchange(c, []byte("new")) == nil
	})
}

// TestTunnelAnswers has a tunnel answer for its machine.
func TestTunnelAnswers(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{}, echo)
	var mu sync.Mutex
	said := []int{502, 404, 524, 429, 503}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(said) > 0 {
			w.WriteHeader(said[0])
			said = said[1:]
			return
		}
		s.http.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	c := dial(t, dialer(t, front.Listener.Addr().String()))
	if err := exchange(c, []byte("through")); err != nil {
		t.Error(err)
	}
	for _, status := range []int{400, 403, 426, 501, 200} {
		mu.Lock()
		said = []int{status}
		mu.Unlock()
		var refused *RefusedError
		_, err := dialer(t, front.Listener.Addr().String()).Dial(t.Context())
		if !errors.As(err, &refused) || refused.Status != status || refused.Ours() {
			t.Errorf("status %d: %v", status, err)
		}
	}
	mu.Lock()
	said = []int{502, 502, 502, 502, 502, 502, 502, 502, 502, 502, 502, 502, 502, 502}
	mu.Unlock()
	d := dialer(t, front.Listener.Addr().String())
	d.Patience = 30 * time.Millisecond
	var refused *RefusedError
	if _, err := d.Dial(t.Context()); !errors.As(err, &refused) || refused.Status != 502 {
		t.Errorf("a tunnel that never gets through: %v", err)
	}
}

func TestDialIsCancelled(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dialer(t, l.Addr().String()).Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{}, echo)
	for query, upgrade := range map[string]string{
		"session=00112233445566778899aabbccddeeff&v=1&new=1": "",
		"session=00112233445566778899aabbccddeeff&v=9&new=1": "websocket",
		"session=0011&v=1&new=1":                             "websocket",
		"session=00112233445566778899aabbccddeeff&v=1":       "websocket",
	} {
		req, _ := http.NewRequest(http.MethodGet, s.http.URL+"?"+query, nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", upgrade)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
	if n := len(s.list()); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
}
