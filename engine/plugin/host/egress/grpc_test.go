package egress

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

type handler func(method string, md metadata.MD, rpc grpc.ServerStream) error

// rpcServer runs a gRPC server on loopback that takes every method.
func rpcServer(t *testing.T, h handler, options ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(append(options, grpc.ForceServerCodec(rawCodec{}), grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30),
		grpc.UnknownServiceHandler(func(_ any, rpc grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(rpc)
			md, _ := metadata.FromIncomingContext(rpc.Context())
			return h(method, md, rpc)
		}))...)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	return l.Addr().String()
}

func rpcCloud() sdk.Manifest {
	return sdk.Manifest{
		ID:       "provider-rpc",
		Settings: []sdk.Setting{{Name: "server", Doc: "The API", Env: []string{"RPC_URL"}, Default: "https://example.com"}},
		Permissions: sdk.Permissions{GRPC: []sdk.GRPCPermission{{Destination: "{server}", Methods: []string{"/acme.Cloud/*"},
			Reason: "to rent"}}},
		Secrets: []sdk.Secret{{Name: "token", Doc: "Make one.", Env: []string{"RPC_TOKEN"},
			Bind: []sdk.Binding{{Destination: "{server}", Header: "X-Token"}}}},
		Captures: []sdk.Capture{
			{Name: "session", Method: "/acme.Cloud/Login", Field: "1", JWT: true, Bind: []sdk.Binding{{Destination: "{server}", Header: "x-session"}}},
			{Name: "worker", Method: "/acme.Cloud/Worker", Field: "3.1", URLField: "2", GRPC: []string{"/acme.Worker/*"},
				Bind: []sdk.Binding{{Header: "authorization", Format: "Bearer {}"}}},
		},
	}
}

func rpcWorld(t *testing.T, h handler) (string, world) {
	t.Helper()
	url := "http://" + rpcServer(t, h)
	return url, world{manifest: rpcCloud(), env: map[string]string{"RPC_URL": url, "RPC_TOKEN": token}}
}

func (g *guest) rpc(in sdk.GRPCOpen, msgs ...string) (answer, error) {
	g.t.Helper()
	o, err := g.s.OpenGRPC(in)
	if err != nil {
		return answer{}, err
	}
	for _, m := range msgs {
		g.send(o.Stream, m, 0)
	}
	g.s.Send(o.Stream, nil, sdk.SendEnd)
	a := g.read(o.Stream)
	if a.end.Error != nil {
		return a, a.end.Error
	}
	return a, nil
}

func echo(_ string, md metadata.MD, rpc grpc.ServerStream) error {
	if err := rpc.SendHeader(metadata.Pairs("x-head", strings.Join(md["x-mine"], ","), "x-raw-bin", "\x00\xff"+strings.Join(md["x-own-bin"], ""))); err != nil {
		return err
	}
	rpc.SetTrailer(metadata.Pairs("x-trail", fmt.Sprint(md["x-token"][0] == token, len(md["x-token"]), md["content-type"])))
	for {
		var m []byte
		if err := rpc.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := rpc.SendMsg(m); err != nil {
			return err
		}
	}
}

func TestRPC(t *testing.T) {
	var audits []Audit
	url, w := rpcWorld(t, echo)
	w.audits = &audits
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Echo",
		Metadata: map[string][]string{"X-Mine": {"a", "b"}, "x-own-bin": {base64.StdEncoding.EncodeToString([]byte("\x01"))}, "x-token": {"placeholder"}}},
		"one", "", strings.Repeat("x", 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.data) != 3 || a.data[0] != "one" || a.data[1] != "" || len(a.data[2]) != 3<<20 || a.end.Code != 0 {
		t.Errorf("%d messages, end %+v", len(a.data), a.end)
	}
	if a.headers["x-head"][0] != "a,b" || a.headers["x-raw-bin"][0] != base64.StdEncoding.EncodeToString([]byte("\x00\xff\x01")) {
		t.Errorf("headers %v", a.headers)
	}
	if a.end.Headers["x-trail"][0] != "true 1 [application/grpc+proto]" {
		t.Errorf("trailers %v", a.end.Headers)
	}
	if len(audits) != 1 || audits[0].Path != "/acme.Cloud/Echo" || audits[0].Sent != 3<<20+3 || audits[0].Received != 3<<20+3 || audits[0].Status != 0 {
		t.Errorf("audits %+v", audits)
	}
}

func TestRPCStatus(t *testing.T) {
	detail, err := anypb.New(wrapperspb.String("retry with " + token))
	if err != nil {
		t.Fatal(err)
	}
	full := &spb.Status{Code: int32(codes.ResourceExhausted), Message: "slow down, " + token, Details: []*anypb.Any{detail}}
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		rpc.SetTrailer(metadata.Pairs("x-why", token, "x-why-bin", token))
		return status.ErrorProto(full)
	})
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"}, "")
	if err != nil || codes.Code(a.end.Code) != codes.ResourceExhausted || a.end.Message != "slow down, [secret token]" {
		t.Fatalf("%+v, %v", a.end, err)
	}
	var got spb.Status
	if err := proto.Unmarshal(a.details, &got); err != nil || len(got.Details) != 1 {
		t.Fatalf("details %v, %v", &got, err)
	}
	var text wrapperspb.StringValue
	if err := got.Details[0].UnmarshalTo(&text); err != nil || text.Value != "retry with [secret token]"+strings.Repeat("*", len(token)-len("[secret token]")) {
		t.Errorf("detail %q, %v", text.Value, err)
	}
	raw, _ := base64.StdEncoding.DecodeString(a.end.Headers["x-why-bin"][0])
	if a.end.Headers["x-why"][0] != "[secret token]" || bytes.Contains(raw, []byte(token)) {
		t.Errorf("trailers %v", a.end.Headers)
	}
}

// A message with a secret in a string stays a message.
func TestRPCEchoOfASecret(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, md metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg(message(1, "before", 2, message(1, "your token is "+md["x-token"][0]), 3, "after"))
	})
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	if err != nil || len(a.data) != 1 || strings.Contains(a.data[0], token) {
		t.Fatalf("%+v, %v", a, err)
	}
	if inner, err := readField([]byte(a.data[0]), []protoField{2, 1}); err != nil || !strings.HasPrefix(inner, "your token is [secret token]") {
		t.Errorf("%q, %v", inner, err)
	}
}

func TestRPCDenied(t *testing.T) {
	url, w := rpcWorld(t, func(method string, _ metadata.MD, _ grpc.ServerStream) error {
		t.Error(method + " arrived")
		return nil
	})
	g := w.guest(t)
	for _, tc := range []struct {
		target, method string
		md             map[string][]string
		code           sdk.Code
	}{
		{url, "/acme.Admin/Do", nil, sdk.Unauthorized},
		{url, "/acme.Cloud/../Admin/Do", nil, sdk.Invalid},
		{url, "acme.Cloud/Do", nil, sdk.Invalid},
		{url, "/acme.Cloud/Do?x", nil, sdk.Invalid},
		{"https://example.org", "/acme.Cloud/Do", nil, sdk.Unauthorized},
		{"http://127.0.0.1:1", "/acme.Cloud/Do", nil, sdk.Unauthorized},
		{"dns:///example.com", "/acme.Cloud/Do", nil, sdk.Invalid},
		{"unix:///run/docker.sock", "/acme.Cloud/Do", nil, sdk.Invalid},
		{url, "/acme.Cloud/Do", map[string][]string{"grpc-timeout": {"1S"}}, sdk.Invalid},
		{url, "/acme.Cloud/Do", map[string][]string{":authority": {"evil"}}, sdk.Invalid},
		{url, "/acme.Cloud/Do", map[string][]string{"x-a": {"b\r\nx-token: c"}}, sdk.Invalid},
		{url, "/acme.Cloud/Do", map[string][]string{"x-a-bin": {"?"}}, sdk.Invalid},
		{url, "/acme.Cloud/Do", map[string][]string{"x-session": {"made up"}}, sdk.Unauthorized},
	} {
		if _, err := g.rpc(sdk.GRPCOpen{Target: tc.target, Method: tc.method, Metadata: tc.md}); sdk.CodeOf(err) != tc.code {
			t.Errorf("%s %s %v: %v (%s), want %s", tc.target, tc.method, tc.md, err, sdk.CodeOf(err), tc.code)
		}
	}
	delete(w.env, "RPC_TOKEN")
	_, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	testkit.WantCode(t, err, sdk.Unauthorized, "set RPC_TOKEN")
}

func TestRPCPrivateAddress(t *testing.T) {
	w := world{manifest: rpcCloud(), env: map[string]string{"RPC_TOKEN": token}, names: map[string]string{"example.com": "10.0.0.1"}}
	_, err := w.guest(t).rpc(sdk.GRPCOpen{Target: "https://example.com", Method: "/acme.Cloud/Do"}, "x")
	testkit.WantCode(t, err, sdk.Unauthorized, "example.com is at 10.0.0.1")
}

func TestRPCOverTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	addr := rpcServer(t, echo, grpc.Creds(credentials.NewServerTLSFromCert(&certified.TLS.Certificates[0])))
	w := publicWorld(rpcCloud(), certified)
	w.env["RPC_TOKEN"], w.servers["93.184.216.34:443"] = token, addr
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: "https://example.com:443", Method: "/acme.Cloud/Do"}, "x")
	if err != nil || a.body != "x" || a.end.Code != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	w.options = nil // nobody vouches for it
	a, err = w.guest(t).rpc(sdk.GRPCOpen{Target: "https://example.com", Method: "/acme.Cloud/Do"}, "x")
	if err != nil || codes.Code(a.end.Code) != codes.Unavailable || !strings.Contains(a.end.Message, "certificate") {
		t.Errorf("%+v, %v", a.end, err)
	}
}

func TestRPCDeadlineAndCancel(t *testing.T) {
	gone := make(chan struct{}, 2)
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		<-rpc.Context().Done()
		gone <- struct{}{}
		return status.FromContextError(rpc.Context().Err()).Err()
	})
	g := w.guest(t)
	a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", TimeoutSeconds: 0.05}, "x")
	if err != nil || codes.Code(a.end.Code) != codes.DeadlineExceeded {
		t.Errorf("%+v, %v", a.end, err)
	}
	<-gone
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do", TimeoutSeconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	g.send(o.Stream, "x", 0)
	g.s.Send(o.Stream, nil, sdk.SendCancel)
	if out := g.s.Wait(20 * time.Millisecond); out != nil {
		t.Errorf("events after cancel: %q", out)
	}
}

func TestRPCTooLarge(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		return rpc.SendMsg(make([]byte, sdk.MaxMessage+1))
	})
	a, err := w.guest(t).rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"}, "x")
	if err != nil || codes.Code(a.end.Code) != codes.ResourceExhausted || len(a.data) != 0 {
		t.Errorf("%+v, %v", a.end, err)
	}
}

// What the server says while nobody takes it stays with the server.
func TestRPCCredit(t *testing.T) {
	var sent sync.WaitGroup
	sent.Add(1)
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		defer sent.Done()
		for range 100 {
			if err := rpc.SendMsg(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
		return nil
	})
	g := w.guest(t)
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	if err != nil {
		t.Fatal(err)
	}
	for e := g.next(o.Stream); e.Kind != sdk.EventData; e = g.next(o.Stream) {
	}
	if out := g.s.Wait(30 * time.Millisecond); out != nil {
		t.Error("a second message came without credit")
	}
	g.s.Credit(o.Stream, 1<<20)
	if a := g.read(o.Stream); len(a.data) != 99 || a.end.Code != 0 {
		t.Errorf("%d messages, %+v", len(a.data), a.end)
	}
	sent.Wait()
}

// Empty messages cost no credit, and do not fill the host's memory either.
func TestRPCEmptyMessages(t *testing.T) {
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		for range 10 * maxPending {
			if err := rpc.SendMsg([]byte{}); err != nil {
				return err
			}
		}
		return nil
	})
	g := w.guest(t)
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	if err != nil {
		t.Fatal(err)
	}
	st := g.s.stream(o.Stream)
	for end := time.Now().Add(time.Minute); st.pending.Load() < maxPending; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d messages came", st.pending.Load())
		}
	}
	if a := g.read(o.Stream); len(a.data) != 10*maxPending || st.pending.Load() != 0 {
		t.Errorf("%d messages", len(a.data))
	}
}

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

func TestRPCSendFull(t *testing.T) {
	read := make(chan struct{})
	url, w := rpcWorld(t, func(_ string, _ metadata.MD, rpc grpc.ServerStream) error {
		<-read
		n := 0
		for {
			var m []byte
			if err := rpc.RecvMsg(&m); errors.Is(err, io.EOF) {
				return rpc.SendMsg([]byte(fmt.Sprint(n)))
			} else if err != nil {
				return err
			}
			n++
		}
	})
	g := w.guest(t)
	o, err := g.s.OpenGRPC(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"})
	if err != nil {
		t.Fatal(err)
	}
	n, msg := 0, make([]byte, 100<<10)
	for g.s.Send(o.Stream, msg, sdk.SendData) == sdk.SendOK {
		if n++; n > 10000 {
			t.Fatal("the queue has no bound")
		}
	}
	close(read)
	g.send(o.Stream, string(msg), sdk.SendEnd)
	if a := g.read(o.Stream); a.body != fmt.Sprint(n+1) {
		t.Errorf("the server got %s messages of %d", a.body, n+1)
	}
}

// Captures.

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

// One connection serves all calls of a destination.
func TestRPCConnectionIsShared(t *testing.T) {
	var mu sync.Mutex
	dials := 0
	url, w := rpcWorld(t, echo)
	w.options = func(o *Options) {
		connect := o.connect
		o.connect = func(ctx context.Context, addr string) (net.Conn, error) {
			mu.Lock()
			dials++
			mu.Unlock()
			return connect(ctx, addr)
		}
	}
	gw := w.gateway(t)
	var wg sync.WaitGroup
	for range 4 {
		g := guestOf(t, gw)
		wg.Go(func() {
			for range 16 {
				if a, err := g.rpc(sdk.GRPCOpen{Target: url, Method: "/acme.Cloud/Do"}, "m"); err != nil || a.body != "m" {
					t.Errorf("%+v, %v", a, err)
				}
			}
		})
	}
	wg.Wait()
	if dials != 1 {
		t.Errorf("%d connections", dials)
	}
}

func TestPoolShrinks(t *testing.T) {
	p := &pool{public: &dialer{}, anywhere: &dialer{}, tls: (&Gateway{}).tls()}
	defer p.close()
	busy, err := p.get(target{origin: origin{"https", "busy", "443"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxConns {
		c, err := p.get(target{origin: origin{"https", fmt.Sprint("h", i), "443"}})
		if err != nil {
			t.Fatal(err)
		}
		p.put(c)
	}
	if len(p.conns) > maxConns || p.conns[target{origin: origin{"https", "busy", "443"}}] != busy {
		t.Errorf("%d connections are kept", len(p.conns))
	}
}
