package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestCancelledWhileItStarts has a command cancelled while the machine is busy with its start:
// the command is killed, and not before it is there.
func TestCancelledWhileItStarts(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	arrived, cancelled := make(chan struct{}), make(chan struct{})
	l := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/processes" {
			note(r.Method + " " + r.URL.Path)
			_, _ = w.Write([]byte("{}"))
			return
		}
		close(arrived)
		<-cancelled
		select { // a client that gives the start up has the time for it
		case <-r.Context().Done():
			note("the start was given up")
		case <-time.After(300 * time.Millisecond):
			note("started")
			_ = json.NewEncoder(w).Encode(protocol.Process{ID: "p-1"})
		}
	}))
	c, err := New("unix:"+l.Addr().String(), "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Processes().Run(ctx, protocol.ProcessSpec{ID: "p-1", Shell: "sleep 1000"}, nil, nil, nil)
		done <- err
	}()
	<-arrived
	cancel()
	close(cancelled)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if want := []string{"started", "POST /v1/processes/p-1/signal"}; !slices.Equal(seen, want) {
		t.Errorf("the machine saw %q, not %q", seen, want)
	}
}

// TestInputThatBreaks has the input of a command fail in its middle: the command must not take the
// part for the whole.
func TestInputThatBreaks(t *testing.T) {
	over := make(chan struct{})
	var once sync.Once
	var killed atomic.Bool
	l := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/processes/p-1/stdin":
			if r.URL.Query().Has("eof") {
				once.Do(func() { close(over) })
			}
			_, _ = io.WriteString(w, `{"offset":4}`)
		case "/v1/processes/p-1/signal":
			killed.Store(true)
			_, _ = io.WriteString(w, "{}")
		case "/v1/processes/p-1/output":
			select {
			case <-over:
				_, _ = w.Write(protocol.AppendRecord(nil, protocol.RecordEnd, []byte(`{"id":"p-1"}`)))
			case <-r.Context().Done():
			}
		default:
			_ = json.NewEncoder(w).Encode(protocol.Process{ID: "p-1"})
		}
	}))
	c, err := New("unix:"+l.Addr().String(), "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	broken := errors.New("the disk is on fire")
	input := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if _, err := c.Processes().Run(t.Context(), protocol.ProcessSpec{ID: "p-1", Shell: "cat"}, input, nil, nil); !errors.Is(err, broken) || !killed.Load() {
		t.Errorf("%v, killed: %t", err, killed.Load())
	}
	for _, none := range []error{io.EOF, &os.PathError{Op: "read", Path: "/dev/stdin", Err: syscall.EBADF}} {
		if _, err := c.Processes().Run(t.Context(), protocol.ProcessSpec{ID: "p-1", Shell: "cat"}, iotest.ErrReader(none), nil, nil); err != nil {
			t.Errorf("without an input: %v", err)
		}
	}
}
