package meter_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/agent/meter"
)

// recorded is an upstream that keeps its requests, and answers with a usage.
type recorded struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	answer   string
}

const small = `{"model":"claude-test","usage":{"input_tokens":10,"output_tokens":1}}`

func (u *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests, u.bodies = append(u.requests, r), append(u.bodies, string(body))
	if u.answer == "" {
		u.answer = small
	}
	_, _ = io.WriteString(w, u.answer)
}

func (u *recorded) last() (*http.Request, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.requests)
	if n == 0 {
		return nil, ""
	}
	return u.requests[n-1], u.bodies[n-1]
}

func TestTokenAndKey(t *testing.T) {
	type presented struct{ header, value, query string }
	right := []presented{
		{"Authorization", "Bearer " + theToken, ""}, {"Authorization", "bearer " + theToken, ""}, {"X-Api-Key", theToken, ""},
		{"X-Goog-Api-Key", theToken, ""}, {"Api-Key", theToken, ""}, {"X-Other", "x", "?key=" + theToken + "&alt=sse"},
	}
	wrong := []presented{
		{"X-Other", "x", ""}, {"Authorization", "Bearer ", ""}, {"Authorization", "Bearer " + theToken + "x", ""}, {"X-Api-Key", theKey, ""},
		{"X-Api-Key", "", "?key="}, {"Cookie", theToken, ""}, {"X-Goog-Api-Key", theToken[:len(theToken)-1], ""},
	}
	for api, header := range map[string]string{"anthropic": "X-Api-Key", "responses": "Authorization", "chat": "Authorization", "gemini": "X-Goog-Api-Key"} {
		u := &recorded{}
		b := with(t, u, func(c *meter.Config) { c.API, c.Headers = api, map[string]string{"X-Tenant": "lab"} })
		ask := func(p presented) reply {
			r := b.request(t.Context(), strings.SplitN(interfaces[api].whole, "?", 2)[0]+p.query, interfaces[api].wholeBody)
			r.Header.Del("Authorization")
			r.Header.Set(p.header, p.value)
			return do(t, r)
		}
		for _, p := range right {
			if got := ask(p); got.status != 200 {
				t.Errorf("%s, %+v: %+v", api, p, got)
				continue
			}
			sent, _ := u.last()
			value := map[bool]string{true: "Bearer " + theKey, false: theKey}[header == "Authorization"]
			all := fmt.Sprint(sent.URL, sent.Header)
			if sent.Header.Get(header) != value || strings.Count(all, theKey) != 1 || strings.Contains(all, theToken) || sent.Header.Get("X-Tenant") != "lab" || sent.URL.Query().Has("key") {
				t.Errorf("%s, %+v: the upstream got %s", api, p, all)
			}
		}
		asked := len(u.requests)
		for _, p := range wrong {
			if got := ask(p); got.status != 401 || !strings.Contains(got.body, "the token of this run is missing or wrong") {
				t.Errorf("%s, %+v: %+v", api, p, got)
			}
		}
		if len(u.requests) != asked {
			t.Errorf("%s: a request without the token was passed", api)
		}
	}
}

func TestHeaderOfKey(t *testing.T) {
	for header, want := range map[string]string{"api-key": theKey, "authorization": "Bearer " + theKey} {
		u := &recorded{}
		b := with(t, u, func(c *meter.Config) { c.Header = header })
		b.post("/v1/messages", "{}")
		if sent, _ := u.last(); sent.Header.Get(header) != want || strings.Count(fmt.Sprint(sent.Header), theKey) != 1 {
			t.Errorf("%s: %v", header, sent.Header)
		}
	}
	u := &recorded{}
	b := with(t, u, func(c *meter.Config) { c.Key = "" })
	b.post("/v1/messages", "{}")
	if sent, _ := u.last(); strings.Contains(fmt.Sprint(sent.Header), theToken) || sent.Header.Get("X-Api-Key") != "" {
		t.Errorf("without a key: %v", sent.Header)
	}
}

// TestKeyStaysOutside has the upstream repeat the key wherever it can, in pieces of each length.
func TestKeyStaysOutside(t *testing.T) {
	for piece := 1; piece <= len(theKey)+1; piece++ {
		for _, zipped := range []bool{false, true} {
			u := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
				text := `{"error":{"message":"the key ` + theKey + ` and sk-real and ` + theKey + theKey + ` are wrong for ` + theToken + `"},"x":"` + theKey[:8] + `"}`
				if zipped {
					w.Header().Set("Content-Encoding", "gzip")
					text = compressed(text)
				}
				w.WriteHeader(403)
				for part := range slices.Chunk([]byte(text), piece) {
					_, _ = w.Write(part)
					_ = http.NewResponseController(w).Flush()
				}
			})
			b := with(t, u, nil)
			r := b.request(t.Context(), "/v1/messages", "{}")
			r.Header.Set("Accept-Encoding", "identity") // keeps the client from unpacking
			got := do(t, r)
			stars := strings.Repeat("*", len(theKey))
			want := `{"error":{"message":"the key ` + stars + ` and sk-real and ` + stars + stars + ` are wrong for ` + theToken + `"},"x":"` + theKey[:8] + `"}`
			if !zipped && got.body != want || strings.Contains(fmt.Sprint(got.header), theKey) {
				t.Fatalf("pieces of %d: the agent got %+v", piece, got)
			}
			if r := <-b.arrived; strings.Contains(fmt.Sprint(r), theKey) || strings.Contains(fmt.Sprint(r), theToken) || !strings.Contains(r.Error, "the key "+stars) {
				t.Fatalf("pieces of %d: reported %+v", piece, r)
			}
		}
	}
}

func compressed(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func TestMistakesOfConfigurationHaveNoSecrets(t *testing.T) {
	_, err := meter.New(meter.Config{
		API: "telnet", Upstream: "https://user:" + theKey + "@host/", Key: theKey + "\n", Header: "a b", Budget: -1,
		Headers: map[string]string{"X-Y": theKey + "\r\nX: y"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"API \"telnet\": unknown", "upstream: it has a user", "key: spaces around it", `header "a b"`, `header "X-Y"`, "token: empty", "budget -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	for _, upstream := range []string{"", "host", "ftp://host", "https://", "https://host/#x", "http://[" + theKey} {
		if _, err2 := meter.New(meter.Config{API: "chat", Upstream: upstream, Token: "t"}); err2 == nil || strings.Contains(err2.Error(), theKey) {
			t.Errorf("%q: %v", upstream, err2)
		}
	}
	if strings.Contains(err.Error(), theKey) {
		t.Errorf("the key is in:\n%v", err)
	}
}

func TestPaths(t *testing.T) {
	for base, c := range map[string]struct{ path, want string }{
		"":                  {"/v1/messages?beta=true", "/v1/messages?beta=true"},
		"/":                 {"/v1/messages", "/v1/messages"},
		"/x/anthropic":      {"/v1/messages", "/x/anthropic/v1/messages"},
		"/x/anthropic/":     {"/v1/messages", "/x/anthropic/v1/messages"},
		"/openai/v1":        {"/v1/responses", "/openai/v1/responses"},
		"/v1/":              {"/v1/chat/completions", "/v1/chat/completions"},
		"/v1beta":           {"/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"},
		"/a?api-version=9":  {"/chat/completions?x=1", "/a/chat/completions?api-version=9&x=1"},
		"/deployments/v1.5": {"/v1/responses", "/deployments/v1.5/v1/responses"},
	} {
		u := &recorded{}
		b := with(t, u, func(c *meter.Config) { c.Upstream += base })
		got := b.post(c.path, "{}")
		if sent, _ := u.last(); sent == nil || sent.URL.String() != c.want {
			t.Errorf("%q and %q: %+v, the upstream got %v", base, c.path, got, sent)
		} else if sent.Host != strings.TrimPrefix(b.upstream.URL, "http://") {
			t.Errorf("%q: Host %s", base, sent.Host)
		}
	}
}

// TestOnlyCountedOrFreeRequestsPass limits the agent to its model. Requests that the proxy cannot
// count could exceed the budget, and the account of the key has more data than this run.
func TestOnlyCountedOrFreeRequestsPass(t *testing.T) {
	u := &recorded{}
	b := with(t, u, func(c *meter.Config) { c.Budget = 1 })
	ask := func(method, path string) reply {
		r := b.request(t.Context(), "/", "{}")
		r.Method = method
		r.URL.Path, r.URL.RawPath = path, ""
		if before, after, ok := strings.Cut(path, "RAW"); ok {
			r.URL.Path, r.URL.RawPath = before, after
		}
		return do(t, r)
	}
	for _, path := range []string{
		"GET /v1/models", "GET /v1/models/claude-test", "HEAD /v1beta/models",
		"POST /v1/messages/count_tokens", "POST /v1beta/models/m:countTokens", "POST /v1/responses/input_tokens",
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := ask(method, path); got.status != 200 {
			t.Errorf("%s %s: %+v", method, path, got)
		}
		if sent, _ := u.last(); sent.Header.Get("X-Api-Key") != theKey {
			t.Errorf("%s %s: no key", method, path)
		}
	}
	passed := len(u.requests)
	for _, path := range []string{
		"GET /v1/files", "GET /v1/files/f/content", "POST /v1/messages/batches", "POST /v1/batches", "DELETE /v1/models/m", "PUT /v1/messages",
		"POST /v1/files/x/../../messages", "GET /v1/models/../files", "GET /v1/models//x", "POST /", "GET /", "GET /v1/models/m:generateContent",
		"GET /v1/models/%2e%2e/files", "GET /v1/models/x\\..\\files", "GET /v1/responses/r",
		"GET /v1/models/../filesRAW/v1/models/..%2Ffiles",
	} {
		method, path, _ := strings.Cut(path, " ")
		if got := ask(method, path); got.status != 404 && got.status != 400 && got.status != 301 {
			t.Errorf("%s %s: %+v", method, path, got)
		}
	}
	if len(u.requests) != passed {
		sent, _ := u.last()
		t.Errorf("passed: %s %s", sent.Method, sent.URL)
	}
	if total := b.proxy.Total(); total.Requests != 0 || len(b.reports) != 0 {
		t.Errorf("counted: %+v", total)
	}
}

func TestHTTPS(t *testing.T) {
	u := &recorded{}
	server := httptest.NewUnstartedServer(u)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	b := with(t, u, func(c *meter.Config) { c.Upstream, c.Transport = server.URL, server.Client().Transport })
	if got := b.post("/v1/messages", "{}"); got.status != 200 || got.body != small {
		t.Errorf("%+v", got)
	}
	untrusted := with(t, u, func(c *meter.Config) { c.Upstream = server.URL })
	if got := untrusted.post("/v1/messages", "{}"); got.status != 502 {
		t.Errorf("a certificate that nobody trusts: %+v", got)
	}
	if r := <-untrusted.arrived; !strings.Contains(r.Error, "certificate") {
		t.Errorf("reported %+v", r)
	}
}

// TestNoUpgrade keeps agents from a protocol that the proxy does not count.
func TestNoUpgrade(t *testing.T) {
	u := &recorded{}
	b := with(t, u, nil)
	r := b.request(t.Context(), "/v1/responses", "{}")
	r.Header.Set("Connection", "Upgrade, X-Api-Key")
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("X-HTTP-Method-Override", "DELETE")
	do(t, r)
	sent, _ := u.last()
	if sent.Header.Get("Upgrade") != "" || sent.Header.Get("X-Http-Method-Override") != "" || sent.Header.Get("X-Api-Key") != theKey {
		t.Errorf("the upstream got %v", sent.Header)
	}
}

// TestRefusedKeyIsFinal: if the upstream refuses the key, the agent gets the status 400, after which
// it does not repeat the request.
func TestRefusedKeyIsFinal(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		b := with(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"no such key"}}`)
		}), nil)
		got := b.post("/v1/messages", `{"model":"scripted","messages":[]}`)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "no such key") {
			t.Errorf("%d: the agent got %d %s", status, got.status, got.body)
		}
		if r := <-b.arrived; r.Status != status || !strings.Contains(r.Error, "no such key") {
			t.Errorf("%d: %+v", status, r)
		}
	}
}
