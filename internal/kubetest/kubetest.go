// Package kubetest is a small API server of Kubernetes for tests: it checks credentials, answers
// what a test says, and runs commands "in pods" as processes of this computer.
package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// Token is the one that the server accepts.
const Token = "good-token"

// Server is an API server with the pod of one namespace. All connections are TLS on the loopback.
type Server struct {
	// Dir has the server's files, among them ca.pem and the folder of the pod, pod.
	Dir string

	// Handle answers a request that was accepted; false = the server does.
	Handle func(w http.ResponseWriter, r *http.Request) bool

	t       testing.TB
	address string
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey

	mu    sync.Mutex
	http  *http.Server
	conns map[net.Conn]bool

	gone  atomic.Bool
	execs atomic.Int64
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{Dir: testkit.ShortDir(t), t: t, conns: map[net.Conn]bool{}}
	s.key = testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := s.template("the test's authority", time.Now().Add(time.Hour))
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	data := testkit.Must(x509.CreateCertificate(rand.Reader, template, template, &s.key.PublicKey, s.key))(t)
	s.ca = testkit.Must(x509.ParseCertificate(data))(t)
	testkit.WriteFile(t, s.CA(), encode("CERTIFICATE", data))
	if err := os.Mkdir(s.Pod(), 0o700); err != nil {
		t.Fatal(err)
	}
	l := testkit.Loopback(t)
	s.address = l.Addr().String()
	s.serve(l)
	t.Cleanup(s.Stop)
	return s
}

// URL is the server's address.
func (s *Server) URL() string { return "https://" + s.address }

// CA is the file with the authority's certificate.
func (s *Server) CA() string { return filepath.Join(s.Dir, "ca.pem") }

// Pod is what is /var/lib/seer for the commands in the pod.
func (s *Server) Pod() string { return filepath.Join(s.Dir, "pod") }

func (s *Server) serve(l net.Listener) {
	cert, key := s.Certificate("the server", time.Now().Add(time.Hour))
	pair := testkit.Must(tls.X509KeyPair([]byte(cert), []byte(key)))(s.t)
	pool := x509.NewCertPool()
	pool.AddCert(s.ca)
	server := &http.Server{
		Handler: http.HandlerFunc(s.answer), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven},
		ConnState: s.state,
	}
	s.mu.Lock()
	s.http = server
	s.mu.Unlock()
	go func() { _ = server.ServeTLS(l, "", "") }()
}

func (s *Server) state(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed {
		delete(s.conns, conn)
	} else {
		s.conns[conn] = true
	}
}

// Stop ends the server and cuts all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.http
	s.mu.Unlock()
	_ = server.Close()
	s.Cut()
}

// Start starts a server that was stopped, at the same address.
func (s *Server) Start() {
	s.t.Helper()
	s.serve(testkit.Listen(s.t, "tcp", s.address))
}

// Cut cuts all connections.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	clear(s.conns)
}

// Remove removes the pod for good.
func (s *Server) Remove() { s.gone.Store(true) }

// Execs is how many commands have begun.
func (s *Server) Execs() int { return int(s.execs.Load()) }

func (s *Server) template(name string, end time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// Certificate makes a certificate and its key, as PEM.
func (s *Server) Certificate(name string, end time.Time) (cert, key string) {
	s.t.Helper()
	own := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(s.t)
	data := testkit.Must(x509.CreateCertificate(rand.Reader, s.template(name, end), s.ca, &own.PublicKey, s.key))(s.t)
	return encode("CERTIFICATE", data), encode("EC PRIVATE KEY", testkit.Must(x509.MarshalECPrivateKey(own))(s.t))
}

func encode(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// Kubeconfig writes a kubeconfig with a context for each user, the name of which is that of the
// context, and the value its fields as JSON. The first one is the current context.
func (s *Server) Kubeconfig(name string, current string, users map[string]any) string {
	s.t.Helper()
	type named map[string]any
	var contexts, all []named
	for user, fields := range users {
		all = append(all, named{"name": user, "user": fields})
		contexts = append(contexts, named{"name": user, "context": named{"cluster": "fake", "user": user, "namespace": "lab"}})
	}
	return testkit.WriteFile(s.t, filepath.Join(s.Dir, name), testkit.JSON(s.t, named{
		"apiVersion": "v1", "kind": "Config", "current-context": current, "contexts": contexts, "users": all,
		"clusters": []named{{"name": "fake", "cluster": named{"server": s.URL(), "certificate-authority": s.CA()}}},
	}))
}

// Env is the environment of seer-kube with a kubeconfig, and nothing of this computer's.
func (s *Server) Env(kubeconfig string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "KUBECONFIG=" + kubeconfig}
}

// Refuse answers with a status, as an API server does.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	details := map[string]any{}
	if reason == "NotFound" {
		details["kind"] = "pods"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code, "details": details,
	})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	known := r.Header.Get("Authorization") == "Bearer "+Token || len(r.TLS.PeerCertificates) > 0
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case !known:
		Refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case s.Handle != nil && s.Handle(w, r):
	case len(parts) == 7 && parts[6] == "exec" && (s.gone.Load() || parts[5] != "seer-one"):
		Refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("pods %q not found", parts[5]))
	case len(parts) == 7 && parts[6] == "exec":
		s.exec(w, r)
	default:
		_, _ = fmt.Fprintf(w, "%s %s", r.Method, r.URL.RequestURI())
	}
}
