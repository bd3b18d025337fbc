package notebook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

const token = "token-of-the-fake"

// serve is a notebook service that a test makes up.
func serve(t *testing.T, h http.HandlerFunc) *notebook.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return clientOf(t, srv.URL)
}

func clientOf(t *testing.T, url string) *notebook.Client {
	t.Helper()
	a, err := notebook.Parse(url + "/?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	c := notebook.NewClient(a)
	t.Cleanup(c.Close)
	return c
}

// hangUp ends a connection in the middle of whatever it was.
func hangUp() { panic(http.ErrAbortHandler) }

func TestWhoAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		code   protocol.Code
		want   string
	}{
		"wrong token": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"error":{"code":"forbidden","message":"no"}}`)
		}, protocol.Forbidden, "refuses the token"},
		"Jupyter's own 403":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>Forbidden", http.StatusForbidden) }, protocol.Forbidden, "refuses the token"},
		"another Jupyter":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>404", http.StatusNotFound) }, protocol.Unsupported, "not a Jupyter server of Seer"},
		"its page to log in": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login?next=x", http.StatusFound) }, protocol.Unsupported, "not a Jupyter server of Seer"},
		"another version":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"seer_notebook":2}`) }, protocol.Unsupported, "version 1"},
		"its own words": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(409)
			fmt.Fprint(w, `{"error":{"code":"conflict","message":"a cell runs"}}`)
		}, protocol.Conflict, "a cell runs"},
		"a broken tunnel": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, protocol.Unavailable, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, tc.answer)
			c.Patience = 0
			_, err := c.Info(t.Context())
			if protocol.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.want) || strings.Contains(fmt.Sprint(err), token) {
				t.Errorf("%v (%s)", err, protocol.CodeOf(err))
			}
		})
	}
	gone := clientOf(t, "http://127.0.0.1:1")
	gone.Patience = 0
	if _, err := gone.Info(t.Context()); protocol.CodeOf(err) != protocol.Unavailable || strings.Contains(err.Error(), token) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j é.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token || strings.Contains(r.URL.RawQuery, token) {
			w.WriteHeader(403)
		}
		fmt.Fprint(w, `{"seer_notebook":1,"sessions":[{"id":"s","version":7}]}`)
	}))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	defer srv.Close()
	a, err := notebook.Parse("unix:" + path + "?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	info, err := notebook.NewClient(a).Info(t.Context())
	if err != nil || info.Sessions[0].Version != "7" {
		t.Errorf("%+v, %v", info, err)
	}
}

// What was asked for and has lost its answer is asked for again with the same key.
func TestRepeats(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]int{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Key string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Key == "" {
			t.Errorf("%s: key %q, %v", r.URL.Path, body.Key, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if keys[body.Key]++; keys[body.Key] < 3 {
			hangUp()
		}
		w.WriteHeader(201)
		fmt.Fprint(w, `{"session":{"id":"s"},"cell":{"id":"c","source":["a\n","b"]},"execution":{"id":"e","cell":"c","state":"queued"}}`)
	})
	run, err := c.AddCell(t.Context(), "s", notebook.NewCell{Type: "code", Source: "a", Run: true})
	if err != nil || run.Execution.ID != "e" || run.Cell.Source != "a\nb" || len(keys) != 1 {
		t.Errorf("%+v, %v, keys %v", run, err, keys)
	}
	if s, _, err := c.StartSession(t.Context(), notebook.NewSession{Mode: notebook.New}); err != nil || s.ID != "s" || len(keys) != 2 {
		t.Errorf("%+v, %v, keys %v", s, err, keys)
	}
	if run, err := c.RunCell(t.Context(), "s", "c"); err != nil || run.Execution.ID != "e" || len(keys) != 3 {
		t.Errorf("%+v, %v, keys %v", run, err, keys)
	}
}

// Every connection is cut after a few events, in the middle of a line, and tells some
// again: each is seen once and in order.
func TestEventsSurviveCuts(t *testing.T) {
	const last = 57
	var requests atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1))
		from, err := strconv.Atoi(r.URL.Query().Get("from"))
		if err != nil {
			t.Error(err)
		}
		if n%5 == 0 {
			fmt.Fprintln(w, `{"t":"waiting"}`)
			return
		}
		for i := max(1, from-2); i <= min(from+7, last); i++ {
			if i == last {
				fmt.Fprintf(w, `{"n":%d,"t":"end","execution":{"id":"e","state":"done"}}`+"\n", i)
				return
			}
			fmt.Fprintf(w, `{"n":%d,"t":"output","output":{"output_type":"stream","name":"stdout","text":"%d"}}`+"\n", i, i)
		}
		fmt.Fprint(w, `{"n":`)
		w.(http.Flusher).Flush()
		hangUp()
	})
	next := 1
	for e, err := range c.Events(t.Context(), "e", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.N != next {
			t.Fatalf("event %d after %d", e.N, next-1)
		}
		next++
	}
	if next != last+1 {
		t.Errorf("the last event was %d", next-1)
	}
	if e, err := c.Wait(t.Context(), "e"); err != nil || e.State != notebook.Done {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestEventsEnd(t *testing.T) {
	silent := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "unknown"):
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"code":"not_found","message":"no execution unknown"}}`)
		case strings.Contains(r.URL.Path, "wrong"):
			fmt.Fprint(w, "{]\n")
		default:
			w.(http.Flusher).Flush()
			close(silent)
			<-r.Context().Done()
		}
	})
	if _, err := c.Wait(t.Context(), "unknown"); protocol.CodeOf(err) != protocol.NotFound || !strings.Contains(err.Error(), "started again") {
		t.Errorf("%v", err)
	}
	if _, err := c.Wait(t.Context(), "wrong"); protocol.CodeOf(err) != protocol.Internal {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-silent
		cancel()
	}()
	if _, err := c.Wait(ctx, "silent"); err != context.Canceled {
		t.Errorf("%v", err)
	}
	dead := clientOf(t, "http://127.0.0.1:1")
	dead.Patience = 200 * time.Millisecond
	if _, err := dead.Wait(t.Context(), "e"); protocol.CodeOf(err) != protocol.Unavailable {
		t.Errorf("%v", err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"n":1,"t":"output","output":{"output_type":"stream","text":["a"]}}` + "\n" + `{"n":2,"t":"end","execution":{}}`))
	f.Add([]byte(`{"n":-1,"t":"end"}[]`))
	f.Add([]byte(`{"n":1,"t":"update","output":{"data":{"a":1}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var once atomic.Bool
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if once.Swap(true) {
				w.WriteHeader(404)
				return
			}
			_, _ = w.Write(body)
		})
		last := -1
		for e, err := range c.Events(t.Context(), "e", 0) {
			if err == nil && e.N <= last {
				t.Errorf("event %d after %d", e.N, last)
			}
			last = max(last, e.N)
		}
	})
}
