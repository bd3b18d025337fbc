package fakehub

import (
	"net/http"
	"strings"
)

// request is one request on its way through the hub.
type request struct {
	*http.Request
	w     *writer
	host  Host
	kind  Call
	fault Fault

	repo string // by [Repo.Name], as the request names it
	id   string // the same without the type
	rev  string // revision; empty = none
	path string // of a file or folder
}

// handler counts, logs, applies faults and turns errors into answers.
func (h *Hub) handler(host Host, serve func(*request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		h.mu.Lock()
		select {
		case <-h.closed:
			h.mu.Unlock()
			panic(http.ErrAbortHandler)
		default:
		}
		h.work.Add(1)
		h.mu.Unlock()
		defer h.work.Done()

		r := &request{Request: in, host: host, kind: Other}
		r.parse()
		r.fault = h.pick(r)
		r.w = h.record(r, w)
		if r.fault.Do != nil {
			r.fault.Do()
		}
		r.w.Header().Set("X-Request-Id", "Root=1-"+strings.ToLower(random34()[:24]))
		if r.fault.answer(r) {
			return
		}
		if err := serve(r); err != nil {
			r.fail(err)
		}
	})
}

// record adds a request to the log.
func (h *Hub) record(r *request, w http.ResponseWriter) *writer {
	_, hubToken := h.options.Users[bearer(r.Request)]
	entry := &Request{
		Host: r.host, Call: r.kind, Method: r.Method, Path: r.URL.EscapedPath(), Range: r.Header.Get("Range"),
		Authorization: r.Header.Get("Authorization") != "", HubToken: hubToken,
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, entry)
	return &writer{ResponseWriter: w, hub: h, request: r, entry: entry}
}

// writer counts what is sent, and does to the body what the fault says.
type writer struct {
	http.ResponseWriter
	hub     *Hub
	request *request
	entry   *Request
	sent    int64
}

// WriteHeader notes the status.
func (w *writer) WriteHeader(status int) {
	w.hub.mu.Lock()
	w.entry.Status = status
	w.hub.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

// Write sends what comes before the fault, then the fault, then the rest.
func (w *writer) Write(p []byte) (int, error) {
	f := w.request.fault
	before := max(f.After-w.sent, 0)
	if !f.Cut && !f.Flip && f.Stall == nil || w.sent > f.After || before >= int64(len(p)) {
		return w.pass(p)
	}
	n, err := w.pass(p[:before])
	if err != nil {
		return n, err
	}
	if f.Cut || f.Stall != nil {
		if flusher, can := w.ResponseWriter.(http.Flusher); can {
			flusher.Flush()
		}
	}
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
	if f.Stall != nil {
		select {
		case <-f.Stall:
		case <-w.request.Context().Done():
			panic(http.ErrAbortHandler)
		case <-w.hub.closed:
			panic(http.ErrAbortHandler)
		}
	}
	rest := append([]byte(nil), p[before:]...)
	if f.Flip {
		rest[0] ^= 1
	}
	m, err := w.pass(rest)
	return n + m, err
}

func (w *writer) pass(p []byte) (int, error) {
	w.hub.mu.Lock()
	w.entry.Bytes += int64(len(p))
	w.hub.mu.Unlock()
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}

// redirect answers with a Location. A path is one of this host.
func (r *request) redirect(status int, location string) {
	if r.fault.Redirect == Absolute && strings.HasPrefix(location, "/") {
		location = "http://" + r.Host + location
	}
	r.w.Header().Set("Location", location)
	r.write(status, "text/plain; charset=utf-8", []byte(http.StatusText(status)+". Redirecting to "+location))
}
