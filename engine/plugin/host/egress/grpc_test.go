package egress

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

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
	return g.finish(o.Stream)
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
