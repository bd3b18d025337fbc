package egress

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

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
