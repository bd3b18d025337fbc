package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// granted limits a world to the lines for which keep says so.
func granted(w world, keep func(line string) bool) world {
	var lines access.Set
	for _, line := range access.Of(w.manifest) {
		if keep(line) {
			lines = append(lines, line)
		}
	}
	options := w.options
	w.options = func(o *Options) {
		o.Asked, o.Manifest = o.Manifest, access.Limit(o.Manifest, lines)
		if options != nil {
			options(o)
		}
	}
	return w
}

// What a manifest asks for and nobody has granted is refused, and the error sends the
// user to the grant and not to the plugin's author.
func TestNotGranted(t *testing.T) {
	var audits []Audit
	base, w := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	w.audits = &audits
	g := granted(w, func(line string) bool { return !strings.HasPrefix(line, "http POST ") }).guest(t)
	if a, err := g.get(base + "/v2/pods"); err != nil || a.body != "fine" {
		t.Errorf("what is granted: %+v, %v", a, err)
	}
	_, err := g.http(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/pods"})
	testkit.WantCode(t, err, sdk.Unauthorized, "its manifest asks for `http POST {endpoint}=https://example.com /v2/**`, but it was not granted; grant it to the plugin")
	_, err = g.http(sdk.HTTPOpen{Method: "DELETE", URL: base + "/v2/pods"})
	testkit.WantCode(t, err, sdk.Unauthorized, "the manifest of plugin provider-cloud does not allow DELETE")
	if len(audits) != 3 || audits[0].Permission != "http GET {endpoint}=https://example.com /v2/**" || audits[0].Refused {
		t.Fatalf("audits = %+v", audits)
	}
	for _, a := range audits[1:] {
		if !a.Refused || a.Permission != "" || a.Error == "" || a.Path != "/v2/pods" || a.Destination != base {
			t.Errorf("audit of a refusal: %+v", a)
		}
	}
}

// A request without its credential would only be blamed on the credential.
func TestCredentialNotGranted(t *testing.T) {
	hit := make(chan string, 10)
	base, w := serve(t, func(_ http.ResponseWriter, r *http.Request) { hit <- r.Header.Get("Authorization") })
	noSecret := func(line string) bool { return !strings.HasPrefix(line, "secret ") }
	_, err := granted(w, noSecret).guest(t).get(base + "/v2/pods")
	testkit.WantCode(t, err, sdk.Unauthorized, "`secret api-key CLOUD_KEY Authorization {endpoint}=https://example.com`, but it was not granted")
	w.manifest.Secrets[0].Optional = true
	if _, err := granted(w, noSecret).guest(t).get(base + "/v2/pods"); err != nil {
		t.Errorf("without an optional credential: %v", err)
	}
	if len(hit) != 1 || <-hit != "" {
		t.Error("a request was made without what it needs, or with what was not granted")
	}
}

// A setting that may not be read has its default, also where it is a destination.
func TestSettingNotGranted(t *testing.T) {
	base, w := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the user's server was reached") })
	g := granted(w, func(line string) bool { return !strings.HasPrefix(line, "setting ") }).guest(t)
	if s, err := g.s.Settings(); err != nil || s["endpoint"] != "https://example.com" {
		t.Errorf("settings = %v, %v", s, err)
	}
	_, err := g.get(base + "/v2/pods")
	testkit.WantCode(t, err, sdk.Unauthorized, "does not name it")
}

// The policy goes by where a request goes, whatever a setting makes of its permission.
func TestPolicyOfDestinations(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	for policy, want := range map[string]bool{base: true, "https://example.com": false, "*.0.0.1": true, "*.example.com": false, "*.7.0.0.1": false} {
		w.options = func(o *Options) { o.Destinations = []string{"https://other.example", policy} }
		_, err := w.guest(t).get(base + "/v2/pods")
		if want && err != nil {
			t.Errorf("%s: %v", policy, err)
		} else if !want {
			testkit.WantCode(t, err, sdk.Unauthorized, "the policy for plugins does not allow it")
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport of the host's sees what would be sent, after all checks, and what it
// answers is treated as the network's.
func TestTransport(t *testing.T) {
	var seen []string
	w := world{manifest: cloud(), env: map[string]string{"CLOUD_KEY": token}}
	w.options = func(o *Options) {
		o.Transport = transport(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
			if r.URL.Path == "/v2/moved" {
				return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/v1/secret"}}, Body: http.NoBody, Request: r}, nil
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"X-Key": {token}}, Body: io.NopCloser(strings.NewReader("your key is " + token)), Request: r}, nil
		})
	}
	g := w.guest(t)
	a, err := g.get("https://example.com/v2/pods")
	if err != nil || a.status != 200 || strings.Contains(a.body+a.headers["X-Key"][0], token) || !strings.HasPrefix(a.body, "your key is ") {
		t.Errorf("answer = %+v, %v", a, err)
	}
	_, err = g.get("https://example.com/v2/moved")
	testkit.WantCode(t, err, sdk.Unauthorized, "was redirected", "does not allow GET /v1/secret")
	_, err = g.get("https://example.org/v2/pods")
	testkit.WantCode(t, err, sdk.Unauthorized, "does not name it")
	want := "GET https://example.com/v2/pods Bearer " + token + "\nGET https://example.com/v2/moved Bearer " + token
	if got := strings.Join(seen, "\n"); got != want {
		t.Errorf("the transport saw\n%s\nwant\n%s", got, want)
	}
}

// Requests that are refused for their form are in the audit, too.
func TestAuditOfEveryRefusal(t *testing.T) {
	var audits []Audit
	base, w := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	w.audits = &audits
	w.names = map[string]string{"example.com": "10.0.0.1"}
	w.env["CLOUD_URL"] = ""
	g := w.guest(t)
	for _, in := range []sdk.HTTPOpen{
		{URL: "http://[bad"}, {URL: base + "/v2/x"}, {URL: "https://example.com/v2/x", Headers: map[string][]string{"Host": {"x"}}},
		{URL: "https://example.com/v2/x", ContentLength: 3}, {URL: "https://example.com/v2/x"},
	} {
		if _, err := g.http(in); err == nil {
			t.Errorf("%+v was made", in)
		}
	}
	if _, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: "https://example.com", Method: "/a.B/C"}); err == nil {
		t.Error("a call that nobody asked for was made")
	}
	if len(audits) != 6 {
		t.Fatalf("%d audits: %+v", len(audits), audits)
	}
	for _, a := range audits {
		if !a.Refused || a.Permission != "" || a.Error == "" || strings.Contains(a.Error+a.Path, token) {
			t.Errorf("audit = %+v", a)
		}
	}
}

// What a backend hands out is kept from the plugin whatever is granted, and goes nowhere
// without a grant.
func TestCaptureNotGranted(t *testing.T) {
	url, w, seen := workers(t, func(addr string) string { return "https://" + addr })
	var audits []Audit
	w.audits = &audits
	const call = "capture worker /acme.Cloud/Worker 3.1 calls url:2 /acme.Worker/*"
	for what, keep := range map[string]func(string) bool{
		"no call":    func(line string) bool { return line != call },
		"no binding": func(line string) bool { return !strings.HasPrefix(line, "capture worker ") || line == call },
		"nothing":    func(line string) bool { return !strings.HasPrefix(line, "capture worker ") },
	} {
		g := granted(w, keep).guest(t)
		target, placeholder := g.worker(url)
		_, err := g.rpc(bearer(target, "/acme.Worker/Exec", placeholder), "ls")
		if testkit.WantCode(t, err, sdk.Unauthorized, "`"+call+"`, but it was not granted"); len(seen) != 0 {
			t.Errorf("%s: the worker saw %q", what, <-seen)
		}
	}
	audits = nil
	g := granted(w, func(string) bool { return true }).guest(t)
	target, placeholder := g.worker(url)
	if _, err := g.rpc(bearer(target, "/acme.Worker/Exec", placeholder), "ls"); err != nil {
		t.Fatal(err)
	}
	if len(audits) != 2 || audits[0].Permission != "grpc {server}=https://example.com /acme.Cloud/*" || audits[1].Permission != call || audits[1].Refused {
		t.Errorf("audits = %+v", audits)
	}
}
