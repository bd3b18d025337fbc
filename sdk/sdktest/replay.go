package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Replayer is an [http.RoundTripper] that answers from what a [Recorder] has written.
type Replayer struct {
	secrets *Recorder // takes them out, as when it was recorded
	mu      sync.Mutex
	all     []*exchange
}

// Replay reads the recordings of a folder. A request is answered by the first one of the
// same method, URL and body that has not been used; the last one of these is used again.
// Secrets are those that may be in requests now: their place is compared, not their value.
func Replay(dir string, secrets ...string) (*Replayer, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there are no recordings in %s; make some with Record", dir)
	}
	r := &Replayer{secrets: &Recorder{}}
	for _, s := range secrets {
		r.secrets.secrets = append(r.secrets.secrets, credentials([]string{s})...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		e, err := parseExchange(data)
		if err != nil {
			return nil, fmt.Errorf("%s is no recording: %w; make it again", file, err)
		}
		e.file = filepath.Base(file)
		r.all = append(r.all, e)
	}
	return r, nil
}

func parseExchange(data []byte) (*exchange, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var e exchange
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	if e.Method == "" || e.Status < 100 || e.Status > 599 {
		return nil, fmt.Errorf("the method is %q and the status %d", e.Method, e.Status)
	}
	return &e, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	address, sent := r.secrets.scrub(req.URL.String()), canonicalBody([]byte(r.secrets.scrub(body)))
	var last *exchange
	for _, e := range r.all {
		if e.Method != req.Method || e.URL != address || e.Request.body() != sent {
			continue
		}
		last = e
		if !e.used {
			break
		}
	}
	if last == nil {
		return nil, fmt.Errorf("nothing is recorded for %s %s with the body %s; the nearest recording is %s", req.Method, address, shorten(sent), r.nearest(req.Method, address, sent))
	}
	last.used = true
	resp := answer(req, last.Status, "", last.Response.raw())
	for name, value := range last.Response.Header {
		resp.Header.Set(name, value)
	}
	resp.Header.Del("Content-Length") // of what was there before it was scrubbed
	return resp, nil
}

// Unused names recordings that nobody has asked for.
func (r *Replayer) Unused() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.all {
		if !e.used {
			names = append(names, e.file)
		}
	}
	return names
}

// nearest describes the recording that has most in common with a request.
func (r *Replayer) nearest(method, address, body string) string {
	best, most := r.all[0], -1
	for _, e := range r.all {
		score := common(e.URL, address)
		if e.Method == method {
			score += 1000
		}
		if e.Request.body() == body {
			score += 500
		}
		if score > most {
			best, most = e, score
		}
	}
	return fmt.Sprintf("%s: %s %s with the body %s", best.file, best.Method, best.URL, shorten(best.Request.body()))
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// body is what is compared.
func (m message) body() string { return canonicalBody([]byte(m.raw())) }

func (m message) raw() string {
	switch {
	case len(m.JSON) > 0:
		return string(m.JSON)
	case len(m.Bytes) > 0:
		return string(m.Bytes)
	}
	return m.Text
}

// canonicalBody is JSON without space and with its keys in order; else what it is.
func canonicalBody(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return strings.TrimSpace(string(data))
	}
	return jsonOf(v)
}
