package notebook_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// listen serves a made-up notebook service at a Unix socket.
func listen(t *testing.T, path string, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	return testkit.ServeHTTP(t, testkit.Listen(t, "unix", path), h)
}

func answerInfo(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"seer_notebook":1}`))
}

// addressOf is the address of a notebook service at a Unix socket.
func addressOf(t *testing.T, path string) notebook.Address {
	t.Helper()
	a, err := notebook.Parse("unix:" + path + "?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestServerIsGone tells soon that the sandbox has ended, and only that of a server which
// was there and does not come back.
func TestServerIsGone(t *testing.T) {
	t.Parallel()
	soon := func(t *testing.T, c *notebook.Client, call func() error) {
		t.Helper()
		begun := time.Now()
		err := call()
		if protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), "the sandbox has ended") || strings.Contains(err.Error(), token) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took > c.Patience/2 {
			t.Errorf("it took %v", took)
		}
	}
	info := func(c *notebook.Client) func() error {
		return func() error { _, err := c.Info(t.Context()); return err }
	}
	t.Run("its socket", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "s")
		var once sync.Once
		follows := make(chan struct{})
		srv := listen(t, path, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/events") {
				w.(http.Flusher).Flush()
				once.Do(func() { close(follows) })
				<-r.Context().Done()
				return
			}
			answerInfo(w, r)
		})
		c := notebook.NewClient(addressOf(t, path))
		if err := info(c)(); err != nil {
			t.Fatal(err)
		}
		go func() {
			<-follows
			srv.Listener.Close()
			srv.CloseClientConnections()
		}()
		soon(t, c, func() error { _, err := c.Wait(t.Context(), "e"); return err })
		soon(t, c, info(c))
	})
	t.Run("nobody listens any more", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "s")
		srv := listen(t, path, answerInfo)
		c := notebook.NewClient(addressOf(t, path))
		if err := info(c)(); err != nil {
			t.Fatal(err)
		}
		srv.Listener.(*net.UnixListener).SetUnlinkOnClose(false)
		srv.Close()
		c.Close()
		soon(t, c, info(c))
	})
}

// pipes is a listener without sockets, so that synctest knows when everything waits.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newPipes() pipes {
	closed, end := context.WithCancel(context.Background())
	return pipes{make(chan net.Conn), closed, end}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { p.close(); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial connects, or finds nobody.
func (p pipes) dial(refused bool) (net.Conn, error) {
	if refused {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
	}
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

// overPipes serves a made-up notebook service, for a client whose connections are refused while
// refused says so.
func overPipes(t *testing.T, h http.HandlerFunc, refused func() bool) (*notebook.Client, *httptest.Server) {
	t.Helper()
	p := newPipes()
	a := addressOf(t, "/pipes")
	a.Dial = func(context.Context) (net.Conn, error) { return p.dial(refused()) }
	c := notebook.NewClient(a)
	srv := testkit.ServeHTTP(t, p, h)
	t.Cleanup(c.Close) // before the server, which waits for its connections
	return c, srv
}

// TestServerComesBack has a server that answered refuse a number of connections. Before the
// last one, time passes.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]struct {
		looks int32
		pause time.Duration
	}{
		"soon": {3, 0},
		"after a look before and one after the client stood still": {2, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left atomic.Int32
				c, srv := overPipes(t, answerInfo, func() bool {
					now := left.Add(-1)
					if now == 0 {
						time.Sleep(away.pause)
					}
					return now >= 0
				})
				if _, err := c.Info(t.Context()); err != nil {
					t.Fatal(err)
				}
				srv.CloseClientConnections()
				left.Store(away.looks)
				if _, err := c.Info(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestServerThatWasNeverThere is waited for longer than one that has ended.
func TestServerThatWasNeverThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c, _ := overPipes(t, answerInfo, func() bool { return time.Since(begun) < time.Minute })
		if _, err := c.Info(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestEventsOfASilentConnection are asked for again: a tunnel may hang without a cut.
func TestEventsOfASilentConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const silence = 2 * time.Second
		asked := 0
		c, _ := overPipes(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked < 3 {
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return
			}
			// One event may take longer than a silence, as long as it comes.
			for _, b := range []byte(`{"n":0,"t":"end","execution":{"id":"e","state":"done"}}` + "\n") {
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
				time.Sleep(silence / 20)
			}
		}, func() bool { return false })
		c.Silence = silence
		if e, err := c.Wait(t.Context(), "e"); err != nil || e.State != "done" || asked != 3 {
			t.Errorf("%+v, %v, asked %d times", e, err, asked)
		}
	})
}
