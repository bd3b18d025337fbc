package notebook_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
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

// TestServerIsGone tells soon that the sandbox has ended, and only that of a server which
// was there and does not come back.
func TestServerIsGone(t *testing.T) {
	t.Parallel()
	at := func(path string) *notebook.Client {
		a, err := notebook.Parse("unix:" + path + "?token=" + token)
		if err != nil {
			t.Fatal(err)
		}
		return notebook.NewClient(a)
	}
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
		c := at(path)
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
		c := at(path)
		if err := info(c)(); err != nil {
			t.Fatal(err)
		}
		srv.Listener.(*net.UnixListener).SetUnlinkOnClose(false)
		srv.Close()
		c.Close()
		soon(t, c, info(c))
	})
	// away is a server that answered, and at which then as many looks find nobody; before the last there is a pause.
	away := func(t *testing.T, looks int32, pause time.Duration) error {
		path := filepath.Join(t.TempDir(), "s")
		srv := listen(t, path, answerInfo)
		a, err := notebook.Parse("unix:" + path + "?token=" + token)
		if err != nil {
			t.Fatal(err)
		}
		var left atomic.Int32
		a.Dial = func(context.Context) (net.Conn, error) {
			if now := left.Add(-1); now >= 0 {
				if now == 0 {
					time.Sleep(pause)
				}
				return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
			}
			return net.Dial("unix", path)
		}
		c := notebook.NewClient(a)
		if err := info(c)(); err != nil {
			t.Fatal(err)
		}
		srv.CloseClientConnections()
		left.Store(looks)
		return info(c)()
	}
	t.Run("it comes back", func(t *testing.T) {
		t.Parallel()
		if err := away(t, 3, 0); err != nil {
			t.Error(err)
		}
	})
	t.Run("it comes back after a look before and one after the client stood still", func(t *testing.T) {
		t.Parallel()
		if err := away(t, 2, 3100*time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	t.Run("it was never there", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "s")
		c := at(path)
		found := make(chan error, 1)
		go func() { found <- info(c)() }()
		time.Sleep(4 * time.Second)
		listen(t, path, answerInfo)
		if err := <-found; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEventsOfASilentConnection are asked for again: a tunnel may hang without a cut.
func TestEventsOfASilentConnection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	const silence = 2 * time.Second
	var asked atomic.Int32
	listen(t, path, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < 3 {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		// One event may take longer than a silence, as long as it comes.
		begun, end := time.Now(), []byte(`{"n":0,"t":"end","execution":{"id":"e","state":"done"}}`+"\n")
		for i := range end {
			_, _ = w.Write(end[i : i+1])
			w.(http.Flusher).Flush()
			if time.Since(begun) < silence*3/2 {
				time.Sleep(silence / 20)
			}
		}
	})
	a, err := notebook.Parse("unix:" + path + "?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	c := notebook.NewClient(a)
	c.Silence = silence
	if e, err := c.Wait(t.Context(), "e"); err != nil || e.State != "done" || asked.Load() < 3 {
		t.Errorf("%+v, %v, asked %d times", e, err, asked.Load())
	}
}
