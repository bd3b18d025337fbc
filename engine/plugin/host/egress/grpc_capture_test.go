package egress

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// Two kinds of credentials may be given for one URL.
func TestTwoCapturesOfOneURL(t *testing.T) {
	url, w, seen := workers(t, func(addr string) string { return "https://" + addr })
	other := w.manifest.Captures[1]
	other.Name, other.Method = "worker2", "/acme.Cloud/Other"
	w.manifest.Captures = append(w.manifest.Captures, other)
	for _, order := range [][]string{{"Worker", "Other"}, {"Other", "Worker"}} {
		g := w.guest(t)
		for _, method := range order {
			a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/" + method})
			if err != nil {
				t.Fatal(err)
			}
			target, _ := readField([]byte(a.body), []protoField{2})
			placeholder, _ := readField([]byte(a.body), []protoField{3, 1})
			if _, err := g.rpc(bearer(target, "/acme.Worker/Exec", placeholder), "x"); err != nil || !strings.HasSuffix(<-seen, "worker-credential") {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
}

func jwt(exp time.Time) string {
	claims, _ := json.Marshal(map[string]any{"exp": exp.Unix(), "iat": exp.Unix() - 600, "sub": "the user"})
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims) + ".c2lnbmF0dXJl"
}

// login is a server that gives a session token and wants it back.
func login(real string) handler {
	return func(method string, md metadata.MD, rpc grpc.ServerStream) error {
		if method == "/acme.Cloud/Login" {
			return rpc.SendMsg(message(1, real, 2, "also here: "+real, 3, 600))
		}
		if got := md["x-session"]; len(got) != 1 || got[0] != real {
			return status.Errorf(codes.Unauthenticated, "session %v", got)
		}
		return rpc.SendMsg(message(1, "welcome"))
	}
}

func TestCapture(t *testing.T) {
	exp := time.Now().Add(time.Hour)
	real := jwt(exp)
	url, w := rpcWorld(t, login(real))
	gw := w.gateway(t)
	g := guestOf(t, gw)
	a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Login"})
	if err != nil || strings.Contains(a.body, real) || !strings.Contains(a.body, "also here: [secret session]") {
		t.Fatalf("%q, %v", a.body, err)
	}
	placeholder, err := readField([]byte(a.body), []protoField{1})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(placeholder, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(parts) != 3 {
		t.Fatalf("%q: %v", placeholder, err)
	}
	var have map[string]any
	if err := json.Unmarshal(claims, &have); err != nil || len(have) != 3 || have["exp"] != float64(exp.Unix()) || have["jti"] == "" {
		t.Errorf("claims %s", claims)
	}
	use := sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", Metadata: map[string][]string{"x-session": {placeholder}}}
	if a, err := guestOf(t, gw).rpc(use); err != nil || a.end.Code != 0 { // another instance of the same plugin
		t.Errorf("%+v, %v", a.end, err)
	}
	// The same token again has the same placeholder, so that a guest may keep it.
	again, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Login"})
	if err != nil || again.body != a.body {
		t.Errorf("%q, %v", again.body, err)
	}
	if text := gw.Scrub("token " + real); text != "token [secret session]" {
		t.Errorf("Scrub = %q", text)
	}
	// Another plugin has no use for it.
	_, err = w.guest(t).rpc(use)
	testkit.WantCode(t, err, sdk.Unauthorized, "x-session", "no credential that was given for it")
	// Nor has a guest that changes it, or calls it something else.
	for _, forged := range []string{placeholder + "x", parts[0] + "." + parts[1] + ".", ""} {
		use.Metadata["x-session"] = []string{forged}
		_, err = g.rpc(use)
		testkit.WantCode(t, err, sdk.Unauthorized)
	}
}

func TestCaptureExpires(t *testing.T) {
	url, w := rpcWorld(t, login(jwt(time.Now().Add(-2*expiryMargin))))
	gw := w.gateway(t)
	g := guestOf(t, gw)
	a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Login"})
	if err != nil {
		t.Fatal(err)
	}
	placeholder, _ := readField([]byte(a.body), []protoField{1})
	_, err = g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", Metadata: map[string][]string{"x-session": {placeholder}}})
	testkit.WantCode(t, err, sdk.Unauthorized, "expired")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		gw.vault.mu.Lock()
		n := len(gw.vault.kept)
		gw.vault.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it stays in memory")
		}
	}
}

// An answer that hides its credential from the host does not reach the guest.
func TestCaptureOfGarbage(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg([]byte("\x0a\xffsecret"))
	})
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Login"})
	testkit.WantCode(t, err, sdk.Internal, "/acme.Cloud/Login", "not a protobuf message")
	if len(a.data) != 0 {
		t.Errorf("the guest got %q", a.data)
	}
}

// workers is a cloud whose machines have URLs and credentials of their own.
func workers(t *testing.T, urlOf func(addr string) string) (string, world, chan string) {
	t.Helper()
	seen := make(chan string, 10)
	worker := rpcServer(t, func(method string, md metadata.MD, rpc grpc.ServerStream) error {
		seen <- method + " " + strings.Join(md["authorization"], ",") + strings.Join(md["x-token"], ",")
		return rpc.SendMsg([]byte("done"))
	})
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg(message(2, urlOf(worker), 3, message(1, "worker-credential")))
	})
	return url, w, seen
}

func (g *guest) worker(url string) (target, placeholder string) {
	g.t.Helper()
	a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Worker"})
	if err != nil {
		g.t.Fatal(err)
	}
	if strings.Contains(a.body, "worker-credential") {
		g.t.Errorf("the guest got %q", a.body)
	}
	target, _ = readField([]byte(a.body), []protoField{2})
	placeholder, _ = readField([]byte(a.body), []protoField{3, 1})
	return target, placeholder
}

func bearer(target, method, placeholder string) sdk.GRPCOpen {
	return sdk.GRPCOpen{Target: target, Method: method, Metadata: map[string][]string{"Authorization": {"Bearer " + placeholder}}}
}

func TestCaptureWithURL(t *testing.T) {
	url, w, seen := workers(t, func(addr string) string { return "https://" + addr + "/router?x=1" })
	g := w.guest(t)
	target, placeholder := g.worker(url)
	target = strings.TrimSuffix(target, "/router?x=1")
	a, err := g.rpc(bearer(target, "/acme.Worker/Exec", placeholder), "ls")
	if err != nil || a.body != "done" {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := <-seen; got != "/acme.Worker/Exec Bearer worker-credential" {
		t.Errorf("the worker saw %q", got)
	}
	for what, in := range map[string]sdk.GRPCOpen{
		"another method":     bearer(target, "/acme.Admin/Do", placeholder),
		"no credential":      {Target: target, Method: "/acme.Worker/Exec"},
		"another credential": bearer(target, "/acme.Worker/Exec", "made-up"),
		"another place":      bearer("https://127.0.0.1:1", "/acme.Worker/Exec", placeholder),
		"without TLS":        bearer(strings.Replace(target, "https", "http", 1), "/acme.Worker/Exec", placeholder),
	} {
		if _, err := g.rpc(in, "x"); sdk.CodeOf(err) != sdk.Unauthorized {
			t.Errorf("%s: %v", what, err)
		}
	}
	// In the hands of another plugin it opens nothing.
	_, err = w.guest(t).rpc(bearer(target, "/acme.Worker/Exec", placeholder), "x")
	testkit.WantCode(t, err, sdk.Unauthorized)
	if len(seen) != 0 {
		t.Errorf("the worker also saw %q", <-seen)
	}
}

// A cloud on the internet cannot send a plugin to this computer.
func TestCaptureURLOfAPublicCloudIsPublic(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	addr := rpcServer(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg(message(2, "https://127.0.0.1:1", 3, message(1, "worker-credential")))
	}, grpc.Creds(credentials.NewServerTLSFromCert(&certified.TLS.Certificates[0])))
	w := publicWorld(rpcCloud(), certified)
	w.env["RPC_TOKEN"], w.servers["93.184.216.34:443"] = token, addr
	g := w.guest(t)
	target, placeholder := g.worker("https://example.com")
	_, err := g.rpc(bearer(target, "/acme.Worker/Exec", placeholder), "x")
	testkit.WantCode(t, err, sdk.Unauthorized, "127.0.0.1", "configured yourself")
}

func TestCaptureOfBadURL(t *testing.T) {
	for _, bad := range []string{"", "http://127.0.0.1:1x", "ftp://x", "://", "https://u:p@127.0.0.1:1"} {
		url, w, _ := workers(t, func(string) string { return bad })
		g := w.guest(t)
		_, placeholder := g.worker(url)
		_, err := g.rpc(bearer("https://127.0.0.1:1", "/acme.Worker/Exec", placeholder), "x")
		testkit.WantCode(t, err, sdk.Unauthorized)
	}
}
