package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// A server that redirects elsewhere gets its client's credential there from a naive
// client, and gets nothing from us.
func TestRedirectElsewhereWithTheCredential(t *testing.T) {
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("X-Key") }))
	defer thief.Close()
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/v2/loot", http.StatusFound)
	})
	w.manifest.Secrets[0].Bind[0] = sdk.Binding{Destination: "{endpoint}", Header: "X-Key"}

	req, _ := http.NewRequest("GET", base+"/v2/x", nil)
	req.Header.Set("X-Key", token)
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.Body.Close() != nil || <-stolen != token {
		t.Fatalf("the attack does not work: %v", err)
	}
	_, err := w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "was redirected", "may not send to "+thief.URL)
	if len(stolen) != 0 {
		t.Errorf("the thief got %q", <-stolen)
	}
}

// A redirect to a place that is itself permitted goes on, without what was meant for
// the first place.
func TestRedirectToAnotherDestination(t *testing.T) {
	seen := make(chan http.Header, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen <- r.Header; io.WriteString(w, "there") }))
	defer other.Close()
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/moved" {
			http.Redirect(w, r, "../v2/again", http.StatusMovedPermanently)
			return
		}
		http.Redirect(w, r, other.URL+"/files/1", http.StatusTemporaryRedirect)
	})
	w.manifest.Settings = append(w.manifest.Settings, sdk.Setting{Name: "files", Doc: "Files", Env: []string{"CLOUD_FILES"}})
	w.manifest.Permissions.HTTP = append(w.manifest.Permissions.HTTP, sdk.HTTPPermission{Destination: "{files}", Methods: []string{"GET"},
		Paths: []string{"/files/*"}, Reason: "files"})
	w.manifest.Secrets = append(w.manifest.Secrets, sdk.Secret{Name: "files-key", Doc: "x", Env: []string{"FILES_KEY"},
		Bind: []sdk.Binding{{Destination: "{files}", Header: "X-Files"}}})
	w.env["CLOUD_FILES"], w.env["FILES_KEY"] = other.URL, "files-secret"
	a, err := w.guest(t).http(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/moved",
		Headers: map[string][]string{"Cookie": {"session=1"}, "X-Files": {"mine"}, "X-Own": {"1"}}})
	if err != nil || a.body != "there" {
		t.Fatalf("%+v, %v", a, err)
	}
	h := <-seen
	if h.Get("Authorization") != "" || h.Get("Cookie") != "" || h.Get("X-Files") != "files-secret" || h.Get("X-Own") != "1" {
		t.Errorf("the second destination saw %v", h)
	}
}

func TestRedirectsEnd(t *testing.T) {
	var n atomic.Int32
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprintf("/v2/%d", n.Add(1)), http.StatusFound)
	})
	g := w.guest(t)
	_, err := g.get(base + "/v2/0")
	testkit.WantCode(t, err, sdk.Invalid, "redirected more than 10 times")
	if n.Load() != 11 {
		t.Errorf("%d requests", n.Load())
	}
	// A request that changes something is not repeated elsewhere.
	if a, err := g.http(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/0"}); err != nil || a.status != 302 || n.Load() != 12 {
		t.Errorf("POST: %+v, %v", a, err)
	}
}

// A server that is trusted redirects to what only this computer can reach.
func TestRedirectToLoopback(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "metadata") }))
	defer inner.Close()
	outer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL+"/latest/meta-data", http.StatusFound)
	}))
	defer outer.Close()
	if resp, err := outer.Client().Get(outer.URL); err != nil || resp.StatusCode != 200 {
		t.Fatalf("the attack does not work: %v", err)
	} else {
		resp.Body.Close()
	}
	m := cloud()
	m.Permissions.HTTP[0].Paths = []string{"/**"}
	w := publicWorld(m, outer)
	g := w.guest(t)
	_, err := g.get("https://example.com/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "was redirected", "may not send to http://127.0.0.1")
}

// publicWorld is one in which example.com, at an address of the internet, is a server
// of the test's.
func publicWorld(m sdk.Manifest, srv *httptest.Server) world {
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return world{manifest: m, env: map[string]string{"CLOUD_KEY": token}, names: map[string]string{"example.com": "93.184.216.34"},
		servers: map[string]string{"93.184.216.34:443": srv.Listener.Addr().String()}, options: func(o *Options) { o.Roots = roots }}
}

func TestPublicDestination(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, r.TLS.ServerName, r.Header.Get("Authorization") == "Bearer "+token)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	a, err := publicWorld(cloud(), srv).guest(t).get("https://example.com/v2/x")
	if err != nil || a.body != "HTTP/2.0example.comtrue" {
		t.Errorf("%+v, %v", a, err)
	}
	// The same server under a certificate that nobody vouches for.
	w := publicWorld(cloud(), srv)
	w.options = nil
	_, err = w.guest(t).get("https://example.com/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "certificate")
}

// A name that is public when it is checked and private when it is dialled: a client
// that checks first and then connects by name is fooled.
func TestDNSRebinding(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inside") }))
	defer inner.Close()
	var asked atomic.Int32
	rebinding := func(context.Context, string) ([]netip.Addr, error) {
		if asked.Add(1)%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	naive := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		for range 1 {
			if addrs, _ := rebinding(ctx, host); !public(addrs[0]) {
				t.Fatal("refused")
			}
		}
		addrs, _ := rebinding(ctx, host)
		return connectTCP(ctx, net.JoinHostPort(addrs[0].String(), port))
	}}}
	if resp, err := naive.Get("http://rebind.example.com/"); err != nil {
		t.Fatalf("the attack does not work: %v", err)
	} else {
		resp.Body.Close()
		naive.CloseIdleConnections()
	}

	var dialled []string
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_KEY": token}, options: func(o *Options) {
		o.Resolve = rebinding
		o.connect = func(_ context.Context, addr string) (net.Conn, error) {
			dialled = append(dialled, addr)
			return nil, net.ErrClosed
		}
	}}
	_, err := w.guest(t).get("https://example.com/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable)
	if len(dialled) != 1 || dialled[0] != "93.184.216.34:443" {
		t.Errorf("dialled %v", dialled)
	}
	_, err = w.guest(t).get("https://example.com/v2/x") // now it is private at once
	testkit.WantCode(t, err, sdk.Unauthorized, "example.com is at 127.0.0.1", "configured yourself")
	if len(dialled) != 1 {
		t.Errorf("dialled %v", dialled)
	}
}

// Every address of a name is checked, also those that would be tried later.
func TestOneBadAddressIsEnough(t *testing.T) {
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_KEY": token}, options: func(o *Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("169.254.169.254")}, nil
		}
	}}
	_, err := w.guest(t).get("https://example.com/v2/x")
	testkit.WantCode(t, err, sdk.Unauthorized, "169.254.169.254")
}

// The default of a setting is the plugin's, not the user's.
func TestDefaultIsNotTheUsers(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	m := cloud()
	m.Settings[0].Default = srv.URL
	for _, env := range []map[string]string{{"CLOUD_KEY": token}, {"CLOUD_KEY": token, "CLOUD_URL": srv.URL},
		{"CLOUD_KEY": token, "CLOUD_URL": strings.ToUpper(srv.URL) + "/"}} {
		_, err := world{manifest: m, env: env}.guest(t).get(srv.URL + "/v2/x")
		testkit.WantCode(t, err, sdk.Unauthorized, "127.0.0.1", "configured yourself")
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	l.Close()
	var audits []Audit
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_URL": base, "CLOUD_KEY": token, "HTTPS_PROXY": "http://proxy"}, audits: &audits}
	_, err = w.guest(t).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "GET "+base+"/v2/x failed", "refused", "HTTPS_PROXY is set")
	if len(audits) != 1 || audits[0].Error == "" {
		t.Errorf("audits %+v", audits)
	}
}

// Of several addresses the one that answers is taken.
func TestSecondAddress(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") })
	named := strings.Replace(base, "127.0.0.1", "cloud.test", 1)
	w.env["CLOUD_URL"] = named
	w.options = func(o *Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		connect := o.connect
		o.connect = func(ctx context.Context, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "127.0.0.2:") {
				<-ctx.Done() // it keeps silent
				return nil, ctx.Err()
			}
			return connect(ctx, addr)
		}
	}
	if a, err := w.guest(t).get(named + "/v2/x"); err != nil || a.body != "here" {
		t.Errorf("%+v, %v", a, err)
	}
	w.options = func(o *Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
	}
	_, err := w.guest(t).get(named + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "cloud.test has no address")
}

// The host reads no further ahead than the guest allows.
func TestCreditHoldsTheServerBack(t *testing.T) {
	var wrote atomic.Int64
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 40 {
			n, err := w.Write(bytes.Repeat([]byte("y"), 1<<20))
			if wrote.Add(int64(n)); err != nil {
				return
			}
		}
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for got < sdk.StreamWindow {
		got += len(g.next(o.Stream).payload)
	}
	if got != sdk.StreamWindow {
		t.Errorf("%d bytes came on a credit of %d", got, sdk.StreamWindow)
	}
	if out := g.s.Wait(30 * time.Millisecond); out != nil {
		t.Error("more came without credit")
	}
	g.s.Credit(o.Stream, 100)
	if e := g.next(o.Stream); len(e.payload) != 100 {
		t.Errorf("%d bytes came on a credit of 100", len(e.payload))
	}
	g.s.Credit(o.Stream, 64<<20)
	if a := g.read(o.Stream); got+100+len(a.body) != 40<<20 {
		t.Errorf("%d bytes in all", got+100+len(a.body))
	}
}

// A body that the server does not read fills the queue; room is told of.
func TestSendFull(t *testing.T) {
	read := make(chan struct{})
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-read
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/x", Body: true})
	if err != nil {
		t.Fatal(err)
	}
	sent, piece := 0, bytes.Repeat([]byte("z"), 256<<10)
	for g.s.Send(o.Stream, piece, sdk.SendData) == sdk.SendOK {
		if sent += len(piece); sent > 1<<30 {
			t.Fatal("the queue has no bound")
		}
	}
	close(read)
	for e := g.next(o.Stream); e.Kind != sdk.EventRoom; e = g.next(o.Stream) {
	}
	g.send(o.Stream, string(piece), sdk.SendEnd)
	if a := g.read(o.Stream); a.body != fmt.Sprint(sent+len(piece)) {
		t.Errorf("the server read %s bytes of %d", a.body, sent+len(piece))
	}
}

func TestManyStreams(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Query().Get("n")) })
	g := w.guest(t)
	ids := map[int64]int{}
	for i := range sdk.MaxStreams {
		o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: fmt.Sprintf("%s/v2/x?n=%d", base, i), Body: true})
		if err != nil {
			t.Fatal(err)
		}
		ids[o.Stream] = i
	}
	if len(ids) != sdk.MaxStreams {
		t.Fatal("a number was used twice")
	}
	_, err := g.get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Invalid, "64 streams are open")
	for id, i := range ids {
		g.send(id, "", sdk.SendEnd)
		if a := g.read(id); a.body != fmt.Sprint(i) {
			t.Errorf("stream %d: %q, want %d", id, a.body, i)
		}
	}
	if _, err := g.get(base + "/v2/x?n=1"); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}

func TestCancelledStreamIsSilent(t *testing.T) {
	gone := make(chan struct{})
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	if err != nil {
		t.Fatal(err)
	}
	g.next(o.Stream)
	if g.s.Send(o.Stream, nil, sdk.SendCancel) != sdk.SendOK || g.s.Send(o.Stream, nil, sdk.SendCancel) != sdk.SendOver {
		t.Error("answers of cancel")
	}
	<-gone
	if out := g.s.Wait(20 * time.Millisecond); out != nil {
		t.Errorf("events after cancel: %q", out)
	}
}

// What a call leaves behind ends with it.
func TestCloseEndsStreams(t *testing.T) {
	came, gone := make(chan struct{}), make(chan struct{})
	base, w := serve(t, func(_ http.ResponseWriter, r *http.Request) { close(came); <-r.Context().Done(); close(gone) })
	gw := w.gateway(t)
	g := guestOf(t, gw)
	if _, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"}); err != nil {
		t.Fatal(err)
	}
	<-came
	done := make(chan []byte)
	go func() { done <- g.s.Wait(time.Hour) }()
	gw.Close()
	<-done
	<-gone
	_, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	testkit.WantCode(t, err, sdk.Unavailable, "ended")
	_, err = guestOf(t, gw).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "ended")
}

func TestSoftCancelArrives(t *testing.T) {
	_, w := serve(t, nil)
	g := w.guest(t)
	if g.s.Used() {
		t.Error("used before anything was")
	}
	g.s.Cancel()
	g.pump()
	if !g.cancel || !g.s.Used() {
		t.Error("no cancel came")
	}
}

func TestConcurrentSessions(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	gw := w.gateway(t)
	var wg sync.WaitGroup
	for i := range 8 {
		g := guestOf(t, gw)
		wg.Go(func() {
			for k := range 8 {
				want := fmt.Sprint(i, k)
				o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/x", Body: true})
				if err != nil {
					t.Error(err)
					return
				}
				g.send(o.Stream, want, sdk.SendEnd)
				if a := g.read(o.Stream); a.body != want {
					t.Errorf("%q, want %q", a.body, want)
				}
			}
		})
	}
	wg.Wait()
}
