package sdktest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// World is the network in which an implementation is tested: an [http.RoundTripper] in front
// of a backend that counts requests and injects faults. It is safe for concurrent use.
type World struct {
	backend http.RoundTripper

	mu       sync.Mutex
	faults   []*armed
	requests []Request
	strays   []string
}

// Request is one that reached a [World].
type Request struct {
	Method string
	URL    string // without its query
	Status int    // of the answer; 0 = none came
}

// Effect is what happens to a request in place of the backend's answer. next is the
// backend, for an effect that lets it do its work.
type Effect func(req *http.Request, next http.RoundTripper) (*http.Response, error)

// Fault says which requests have an [Effect].
type Fault struct {
	Match  func(*http.Request) bool // nil = every request
	After  int                      // so many that match go through first
	Times  int                      // then so many are hit; 0 = all
	Effect Effect
}

// armed is a fault that was injected.
type armed struct {
	Fault
	seen int
}

// NewWorld makes a world before a backend: [Serve], [Remote], [Canned], a recording, or
// any other [http.RoundTripper].
func NewWorld(backend http.RoundTripper) *World { return &World{backend: backend} }

// Inject adds a fault until remove is called. Of several that match a request, the
// first one counts.
func (w *World) Inject(f Fault) (remove func()) {
	a := &armed{Fault: f}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, a)
	return func() { w.remove(a) }
}

func (w *World) remove(a *armed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, have := range w.faults {
		if have == a {
			w.faults = append(w.faults[:i:i], w.faults[i+1:]...)
			return
		}
	}
}

// Requests lists what has been asked for so far.
func (w *World) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Request(nil), w.requests...)
}

// Count is the number of requests so far.
func (w *World) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests)
}

// Strays lists requests that went where only a hostile redirect leads.
func (w *World) Strays() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.strays...)
}

// RoundTrip implements [http.RoundTripper].
func (w *World) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasPrefix(req.URL.Path, strayPath) {
		w.mu.Lock()
		w.strays = append(w.strays, req.Method+" "+req.URL.String())
		w.mu.Unlock()
		return answer(req, http.StatusOK, "application/json", "{}"), nil
	}
	effect, index := w.meet(req)
	next := w.backend
	var resp *http.Response
	var err error
	if effect == nil {
		resp, err = next.RoundTrip(req)
	} else {
		resp, err = effect(req, next)
	}
	if err == nil {
		w.mu.Lock()
		w.requests[index].Status = resp.StatusCode
		w.mu.Unlock()
	}
	return resp, err
}

// meet notes a request and finds what happens to it.
func (w *World) meet(req *http.Request) (Effect, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := *req.URL
	u.RawQuery, u.User = "", nil
	w.requests = append(w.requests, Request{Method: req.Method, URL: u.String()})
	for _, a := range w.faults {
		if a.Match != nil && !a.Match(req) {
			continue
		}
		a.seen++
		if a.seen > a.After && (a.Times == 0 || a.seen <= a.After+a.Times) {
			return a.Effect, len(w.requests) - 1
		}
	}
	return nil, len(w.requests) - 1
}

// sleep waits as long as ctx allows.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
