package fakemodal

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// connectName is the query parameter and the cookie with a connect token.
const connectName = "_modal_connect_token"

// connectServer lets HTTP and WebSocket requests with a token into a sandbox.
type connectServer struct {
	sandbox *sandbox
	server  *http.Server
	url     string

	mu     sync.Mutex
	guests map[string]guest // by token
}

type guest struct {
	data string // for the program
	port int
}

func openConnectServer(sb *sandbox) (*connectServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &connectServer{sandbox: sb, url: "http://" + l.Addr().String(), guests: map[string]guest{}}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	go func() { _ = d.server.Serve(l) }() // until close
	return d, nil
}

func (d *connectServer) close() {
	if d != nil {
		_ = d.server.Close()
	}
}

// ServeHTTP passes a request on, without its token.
func (d *connectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	g, ok := d.guests[takeToken(r)]
	d.mu.Unlock()
	if !ok {
		http.Error(w, "connect token is missing or wrong", http.StatusUnauthorized)
		return
	}
	d.sandbox.active(1)
	defer d.sandbox.active(-1)
	proxy := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "http", d.sandbox.address(g.port)
		p.Out.Header.Set("X-Verified-User-Data", g.data)
	}}
	proxy.ServeHTTP(w, r)
}

// takeToken removes the token from a request: header, query, or cookie.
func takeToken(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		r.Header.Del("Authorization")
		return token
	}
	query := r.URL.Query()
	if token := query.Get(connectName); token != "" {
		query.Del(connectName)
		r.URL.RawQuery = query.Encode()
		return token
	}
	if cookie, err := r.Cookie(connectName); err == nil {
		return cookie.Value
	}
	return ""
}

func (c *Cloud) connectToken(r *pb.SandboxCreateConnectTokenRequest, v2 bool) (*pb.SandboxCreateConnectTokenResponse, error) {
	return among(c, backend(c, v2), r.GetSandboxId(), func(sb *sandbox) (*pb.SandboxCreateConnectTokenResponse, error) {
		if sb.started == 0 || sb.shut {
			return nil, status.Errorf(codes.FailedPrecondition, "Sandbox '%s' does not run", sb.id)
		}
		if sb.connect == nil {
			connect, err := openConnectServer(sb)
			if err != nil {
				return nil, err
			}
			sb.connect = connect
		}
		g := guest{data: r.GetUserMetadata(), port: 8080}
		if r.HasPort() {
			g.port = int(r.GetPort())
		}
		token := randomName(32)
		sb.connect.mu.Lock()
		defer sb.connect.mu.Unlock()
		sb.connect.guests[token] = g
		return pb.SandboxCreateConnectTokenResponse_builder{Url: sb.connect.url, Token: token}.Build(), nil
	})
}

// SandboxCreateConnectToken makes a token for requests to a port of a sandbox.
func (s *controlServer) SandboxCreateConnectToken(_ context.Context, r *pb.SandboxCreateConnectTokenRequest) (*pb.SandboxCreateConnectTokenResponse, error) {
	return s.connectToken(r, false)
}

// SandboxCreateConnectTokenV2 is SandboxCreateConnectToken of the second back end.
func (s *controlServer) SandboxCreateConnectTokenV2(_ context.Context, r *pb.SandboxCreateConnectTokenRequest) (*pb.SandboxCreateConnectTokenResponse, error) {
	return s.connectToken(r, true)
}
