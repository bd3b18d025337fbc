package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// tunnelled is a machine behind a tunnel that goes on to exist when the machine has ended, as the
// port of a pod does: connections are then closed without an answer.
type tunnelled struct {
	front *httptest.Server
	dead  atomic.Bool

	mu    sync.Mutex
	conns []net.Conn // the tunnel's
}

func newTunnelled(t *testing.T, machine http.Handler) *tunnelled {
	t.Helper()
	u := &tunnelled{}
	links := resumable.NewServer(resumable.ServerOptions{})
	inside := &http.Server{Handler: machine}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = inside.Serve(links)
	}()
	u.front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(resumable.Marker, "1")
		_ = links.Serve(w, r, "")
	}))
	u.front.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateHijacked {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.conns = append(u.conns, c)
		}
	}
	u.front.Start()
	t.Cleanup(func() {
		_ = inside.Close()
		_ = links.Close()
		<-served
		u.front.Close()
	})
	return u
}

// end ends the machine, and cuts what leads to it.
func (u *tunnelled) end() {
	u.dead.Store(true)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.conns {
		_ = c.Close()
	}
}

// A command ends within seconds of the provider's knowing that its machine has ended, with what
// the provider says, although the tunnel still accepts connections.
func TestFate(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	u := newTunnelled(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/processes" {
			_ = json.NewEncoder(w).Encode(protocol.Process{ID: "p-1"})
			return
		}
		close(running)
		<-r.Context().Done()
	}))
	c, err := New(u.front.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	why := errors.New("the machine ended: killed (OOMKilled)")
	var asked atomic.Int64
	c.Fate(func(context.Context) error {
		if asked.Add(1) == 1 {
			return nil // the provider learns it a little later
		}
		return why
	})
	c.fate.pause = 10 * time.Millisecond
	done := make(chan error, 1)
	go func() {
		_, err := c.Processes().Run(t.Context(), protocol.ProcessSpec{ID: "p-1", Shell: "sleep 1000"}, nil, nil, nil)
		done <- err
	}()
	<-running
	if asked.Load() > 0 {
		t.Error("the provider was asked while the connection worked")
	}
	began := time.Now()
	u.end()
	err = <-done
	if !errors.Is(err, why) || !Ended(err) || !Broken(err) || strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > time.Minute { // without it, five
		t.Errorf("it took %v", took)
	}
	if _, err := c.Health(t.Context()); !errors.Is(err, why) {
		t.Errorf("a later request: %v", err)
	}
}

// The end of a machine is asked for until the provider knows it, or the caller's time is over.
func TestAwaitEnd(t *testing.T) {
	t.Parallel()
	c, err := New("http://127.0.0.1:1", "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.AwaitEnd(t.Context()); err != nil {
		t.Errorf("without a provider: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	why, asked := errors.New("the pod was deleted"), 0
	c.Fate(func(context.Context) error {
		if asked++; asked < 3 {
			return nil
		}
		return why
	})
	if err := c.AwaitEnd(ctx); !errors.Is(err, why) || asked != 3 {
		t.Errorf("%v after %d", err, asked)
	}
	c.Fate(func(context.Context) error { cancel(); return nil })
	if err := c.AwaitEnd(ctx); err != nil {
		t.Errorf("after the caller's time: %v", err)
	}
}
