package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// exchange is one request and its answer, as a file has them.
type exchange struct {
	Method   string  `json:"method"`
	URL      string  `json:"url"`
	Request  message `json:"request"`
	Status   int     `json:"status"`
	Response message `json:"response"`

	file string
	used bool
}

// message is one direction. A body that is JSON is written as such, to be read.
type message struct {
	Header map[string]string `json:"header,omitempty"`
	JSON   json.RawMessage   `json:"json,omitempty"`
	Text   string            `json:"text,omitempty"`
	Bytes  []byte            `json:"bytes,omitempty"`
}

// Recorder is an [http.RoundTripper] that writes each exchange to a file of its own, in
// order, without credentials. The answers that are passed on are whole.
type Recorder struct {
	dir     string
	next    http.RoundTripper
	secrets []string
	names   map[string]bool

	mu sync.Mutex
	n  int
}

// maxRecorded is the largest body that is recorded.
const maxRecorded = 8 << 20

// Record makes a recorder before next. It removes the secrets from everything, also in
// encoded form, and the usual headers with credentials and the named ones. The folder is
// made; recordings in it are an error, so that none is mixed up.
func Record(dir string, next http.RoundTripper, secrets []string, headers ...string) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if old, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(old) > 0 {
		return nil, errors.Join(err, fmt.Errorf("there are %d files of another recording in %s; remove them first", len(old), dir))
	}
	r := &Recorder{dir: dir, next: next, names: map[string]bool{}}
	for _, s := range secrets {
		r.secrets = append(r.secrets, credentials([]string{s})...)
	}
	for _, h := range append(headers, "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token") {
		r.names[http.CanonicalHeaderKey(h)] = true
	}
	return r, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(strings.NewReader(sent)), int64(len(sent))
	if sent == "" {
		out.Body = http.NoBody
	}
	resp, err := r.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxRecorded+1))
	_ = resp.Body.Close()
	if err == nil && len(got) > maxRecorded {
		err = fmt.Errorf("the answer to %s %s is larger than %d bytes and cannot be recorded", req.Method, req.URL.Path, maxRecorded)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(got))
	return resp, r.write(req, sent, resp, got)
}

func (r *Recorder) write(req *http.Request, sent string, resp *http.Response, got []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range [][]string{req.Header["Authorization"], resp.Header["Set-Cookie"]} {
		for _, s := range credentials(v) {
			if len(s) >= 8 {
				r.secrets = append(r.secrets, strings.TrimSpace(strings.Split(s, ";")[0]))
			}
		}
	}
	e := exchange{Method: req.Method, URL: r.scrub(req.URL.String()), Status: resp.StatusCode,
		Request: r.message(req.Header, []byte(sent)), Response: r.message(resp.Header, got)}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	r.n++
	name := fmt.Sprintf("%04d-%s-%s.json", r.n, strings.ToLower(req.Method), slug(r.scrub(req.URL.Path)))
	return os.WriteFile(filepath.Join(r.dir, name), append(data, '\n'), 0o600)
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9]+`)

func slug(p string) string {
	s := strings.Trim(notPlain.ReplaceAllString(p, "-"), "-")
	return s[:min(len(s), 60)]
}

const scrubbed = "[secret]"

func (r *Recorder) message(header http.Header, body []byte) message {
	m := message{Header: map[string]string{}}
	for name, values := range header {
		m.Header[name] = r.scrub(strings.Join(values, ", "))
		if r.names[name] {
			m.Header[name] = scrubbed
		}
	}
	clean := []byte(r.scrub(string(body)))
	switch {
	case len(clean) == 0:
	case json.Valid(clean):
		m.JSON = clean
	case utf8.Valid(clean):
		m.Text = string(clean)
	default:
		m.Bytes = clean
	}
	return m
}

// scrub takes secrets out of a text, in every form in which they may be. Longer ones go first.
func (r *Recorder) scrub(text string) string {
	var forms []string
	for _, s := range r.secrets {
		for _, form := range shapes(s) {
			forms = append(forms, form)
		}
		if quoted, err := json.Marshal(s); err == nil && len(s) >= 4 {
			forms = append(forms, strings.Trim(string(quoted), `"`))
		}
	}
	sort.Slice(forms, func(i, j int) bool { return len(forms[i]) > len(forms[j]) })
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, scrubbed)
	}
	return text
}
