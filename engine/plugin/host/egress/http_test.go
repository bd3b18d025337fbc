package egress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func TestRequestWithCredential(t *testing.T) {
	var audits []Audit
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-Mine"))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%v %s", r.Header["Authorization"][0] == "Bearer "+token && len(r.Header["Authorization"]) == 1, body)
	})
	w.audits = &audits
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/pods?x=1#part", Body: true,
		Headers: map[string][]string{"Authorization": {"Bearer placeholder"}, "X-Mine": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	g.send(o.Stream, "one ", 0)
	g.send(o.Stream, "two", sdk.SendEnd)
	a := g.read(o.Stream)
	if a.status != 201 || a.body != "true one two" || a.headers["X-Saw"][0] != "POST /v2/pods?x=1 yes" || a.end.Error != nil {
		t.Errorf("answer = %+v", a)
	}
	if len(audits) != 1 || audits[0].Plugin != "provider-cloud" || audits[0].Destination != base || audits[0].Path != "/v2/pods" ||
		audits[0].Status != 201 || audits[0].Sent != 7 || audits[0].Received != 12 {
		t.Errorf("audits = %+v", audits)
	}
	if g.s.Send(o.Stream, nil, sdk.SendEnd) != sdk.SendOver {
		t.Error("a stream that has ended took more")
	}
}

// What the manifest does not allow does not leave.
func TestDenied(t *testing.T) {
	var hits atomic.Int32
	base, w := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	g := w.guest(t)
	for url, code := range map[string]sdk.Code{
		base + "/v1/pods":                                        sdk.Unauthorized,
		base + "/v2":                                             sdk.Unauthorized,
		base + "/v2/../admin":                                    sdk.Invalid,
		base + "/v2/%2e%2e/admin":                                sdk.Invalid,
		base + "/v2/..%2fadmin":                                  sdk.Invalid,
		base + "/v2/%252e%252e%252fadmin":                        sdk.Invalid,
		base + "/v2/..;/admin":                                   sdk.Invalid,
		base + "/v2//admin":                                      sdk.Invalid,
		base + `/v2/..\admin`:                                    sdk.Invalid,
		base + "/v2/x?a b HTTP/1.1":                              sdk.Invalid,
		base + "/v2/x?\u0430":                                    sdk.Invalid,
		base + "/v2/a%00b":                                       sdk.Invalid,
		"https://example.org/v2/pods":                            sdk.Unauthorized,
		strings.Replace(base, "http:", "https:", 1) + "/v2/x":    sdk.Unauthorized,
		strings.Replace(base, "//", "//user:pass@", 1) + "/v2/x": sdk.Invalid,
		"file:///etc/passwd":                                     sdk.Invalid,
		"http:///v2/x":                                           sdk.Invalid,
		"http://[::1%25lo]/v2/x":                                 sdk.Invalid,
		"http://127.0.0.1:0/v2/x":                                sdk.Invalid,
		"":                                                       sdk.Invalid,
	} {
		if _, err := g.get(url); sdk.CodeOf(err) != code {
			t.Errorf("%s: %v (%s), want %s", url, err, sdk.CodeOf(err), code)
		}
	}
	_, err := g.http(sdk.HTTPOpen{Method: "DELETE", URL: base + "/v2/pods"})
	testkit.WantCode(t, err, sdk.Unauthorized, "does not allow DELETE /v2/pods", "provider-cloud")
	for _, h := range []map[string][]string{
		{"Host": {"evil"}}, {"Connection": {"close"}}, {"Transfer-Encoding": {"chunked"}}, {"Proxy-Authorization": {"x"}},
		{"content-length": {"3"}}, {"X-Http-Method-Override": {"DELETE"}}, {"a b": {"x"}}, {"X\r\nHost": {"evil"}},
		{"X-Fine": {"a\r\nAuthorization: other"}}, {"X-Fine": {"a\x00"}}, {"X-Large": {strings.Repeat("x", 1<<17)}},
	} {
		_, err := g.http(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x", Headers: h})
		testkit.WantCode(t, err, sdk.Invalid, "header")
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

func TestMissingSecret(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header["Authorization"]) })
	delete(w.env, "CLOUD_KEY")
	_, err := w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "api-key", "set CLOUD_KEY", "Make one in the console.")
	w.env["CLOUD_KEY"] = "abc"
	_, err = w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "fewer than 4 characters", "CLOUD_KEY")
	w.env["CLOUD_KEY"] = "line\nbreak"
	_, err = w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "line breaks", "CLOUD_KEY")
	if strings.Contains(err.Error(), "break\"") {
		t.Errorf("the error %q tells the secret", err)
	}
	delete(w.env, "CLOUD_KEY")
	w.manifest.Secrets[0].Optional = true
	a, err := w.guest(t).http(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x", Headers: map[string][]string{"authorization": {"Bearer placeholder"}}})
	if err != nil || a.body != "[]" {
		t.Errorf("without an optional secret: %+v, %v", a, err)
	}
}

// A server that says all it was told.
func TestSecretEchoed(t *testing.T) {
	long := token + strings.Repeat("0123456789abcdef", 4)
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("X-Echo", "you are "+key)
		flush := http.NewResponseController(w)
		for i := range len(key) { // over as many pieces as it has bytes
			io.WriteString(w, key[i:i+1])
			flush.Flush()
		}
		for _, f := range forms(key) {
			io.WriteString(w, " <"+f+"> ")
		}
		io.WriteString(w, strings.Repeat("x", pieceBytes-len(key)/2)+key+" "+key[:8])
	})
	w.env["CLOUD_KEY"] = long
	g := w.guest(t)
	a, err := g.get(base + "/v2/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forms(long) {
		if strings.Contains(a.body, f) {
			t.Errorf("the body holds %q", f)
		}
	}
	if a.headers["X-Echo"][0] != "you are [secret api-key]" || !strings.Contains(a.body, "<[secret api-key]***") || !strings.HasSuffix(a.body, " "+long[:8]) {
		t.Errorf("headers %v, body %.200s", a.headers, a.body)
	}
	if got := g.s.g.Scrub("key " + long + "!"); got != "key [secret api-key]!" {
		t.Errorf("Scrub = %q", got)
	}
}

func TestHostileBodies(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	released := make(chan struct{})
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v2/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/v2/huge":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/v2/silent":
			w.WriteHeader(200)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(released)
		case "/v2/short":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("short"))
		case "/v2/headers":
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		case "/v2/head":
			w.Header().Set("Content-Length", "12345")
		}
	})
	w.limits = Limits{ResponseMB: 1}
	g := w.guest(t)
	if resp, err := http.Get(base + "/v2/bomb"); err != nil {
		t.Fatal(err)
	} else if n, _ := io.Copy(io.Discard, resp.Body); n != 64<<20 || bomb.Len() > 1<<20 {
		t.Fatalf("the bomb of %d bytes makes %d", bomb.Len(), n)
	}
	_, err := g.get(base + "/v2/bomb")
	testkit.WantCode(t, err, sdk.Invalid, `the encoding "gzip"`)
	_, err = g.get(base + "/v2/huge")
	testkit.WantCode(t, err, sdk.Invalid, "larger than 1 MiB")
	_, err = g.get(base + "/v2/short")
	testkit.WantCode(t, err, sdk.Unavailable, "unexpected EOF")
	_, err = g.get(base + "/v2/headers")
	testkit.WantCode(t, err, sdk.Unavailable, "header")
	if a, err := g.http(sdk.HTTPOpen{Method: "HEAD", URL: base + "/v2/head"}); err != nil || a.headers["Content-Length"][0] != "12345" {
		t.Errorf("HEAD: %+v, %v", a, err)
	}
	_, err = g.http(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/silent", TimeoutSeconds: 0.05})
	testkit.WantCode(t, err, sdk.Unavailable, "took too long")
	<-released
}

// Something that is no HTTP at all.
func TestMalformedAnswer(t *testing.T) {
	l := testkit.Serve(testkit.Loopback(t), func(c net.Conn) {
		c.Read(make([]byte, 4096)) // before that it would be no answer
		io.WriteString(c, "SSH-2.0-\x00\x01"+token+"\r\n\r\n")
	})
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_URL": "http://" + l.Addr().String(), "CLOUD_KEY": token}}
	_, err := w.guest(t).get("http://" + l.Addr().String() + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "malformed")
	if strings.Contains(err.Error(), token) {
		t.Errorf("the error %q holds the secret", err)
	}
}

func TestUnreachable(t *testing.T) {
	base := fmt.Sprint("http://127.0.0.1:", testkit.FreePort(t))
	var audits []Audit
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_URL": base, "CLOUD_KEY": token, "HTTPS_PROXY": "http://proxy"}, audits: &audits}
	_, err := w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "GET "+base+"/v2/x failed", "refused", "HTTPS_PROXY is set")
	if len(audits) != 1 || audits[0].Error == "" {
		t.Errorf("audits %+v", audits)
	}
}
