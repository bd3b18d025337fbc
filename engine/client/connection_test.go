package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

func TestConnectionFile(t *testing.T) {
	want := Connection{Version: 1, Sandbox: "sb-1", Service: "tools", Endpoint: "unix:/run/s", Token: "t"}
	checkTokenFile(t, want, ReadConnection)
}

func TestConnectionFileErrors(t *testing.T) {
	checkTokenFileErrors(t, ReadConnection, map[string]string{
		"not JSON":      "{",
		"other version": `{"version":2,"service":"s","token":"t","endpoint":"unix:/s"}`,
		"no token":      `{"version":1,"service":"s","endpoint":"unix:/s"}`,
		"no service":    `{"version":1,"token":"t","endpoint":"unix:/s"}`,
		"endpoint":      `{"version":1,"service":"s","token":"t","endpoint":"ftp://x"}`,
		"relative":      `{"version":1,"service":"s","token":"t","endpoint":"unix:s"}`,
	})
}

func TestClientErrors(t *testing.T) {
	answers := map[string]struct {
		status int
		body   string
	}{
		"/v1/processes/own":      {404, `{"error":{"code":"not_found","message":"no such process"}}`},
		"/v1/processes/odd":      {502, "<html>bad gateway</html>"},
		"/v1/processes/redirect": {302, ""},
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Path]
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	socket := filepath.Join(t.TempDir(), "s")
	srv.Listener.Close()
	var err error
	if srv.Listener, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.Close()
	c, err := New("unix:"+socket, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for id, code := range map[string]protocol.Code{"own": protocol.NotFound, "odd": protocol.Unavailable, "redirect": protocol.Internal} {
		if _, err := c.Processes().Get(context.Background(), id); protocol.CodeOf(err) != code || Ended(err) {
			t.Errorf("%s: %v", id, err)
		}
	}
	nobody, err := New("unix:"+filepath.Join(t.TempDir(), "none"), "token")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Health(context.Background()); protocol.CodeOf(err) != protocol.Unavailable || !errors.Is(err, fs.ErrNotExist) || !Ended(err) {
		t.Errorf("got %v", err)
	}
	ctx := expiring{context.Background(), make(chan struct{})}
	tried := 0
	nobody.Mend(func(context.Context) bool {
		if tried++; tried == 2 { // in the middle of an attempt
			close(ctx.done)
		}
		return false
	})
	_, err = nobody.Boot(ctx, BootOptions{})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a boot in vain says neither why nor that it took too long: %v", err)
	}
}

// expiring is a context whose time is over when the test says so.
type expiring struct {
	context.Context
	done chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.done }

func (c expiring) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
