package fakemodal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// tunnel forwards a port of this computer to one of a sandbox. One that is encrypted
// speaks plain text too, whichever the caller begins with.
type tunnel struct {
	sandbox  *sandbox
	spec     *pb.PortSpec
	listener net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	work   sync.WaitGroup
}

func openTunnel(sb *sandbox, spec *pb.PortSpec) (*tunnel, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tunnel{sandbox: sb, spec: spec, listener: l, conns: map[net.Conn]struct{}{}}
	t.work.Add(1)
	go t.accept()
	return t, nil
}

func (t *tunnel) data() *pb.TunnelData {
	port := uint32(t.listener.Addr().(*net.TCPAddr).Port)
	b := pb.TunnelData_builder{Host: "127.0.0.1", Port: port, ContainerPort: t.spec.GetPort()}
	if t.spec.GetUnencrypted() {
		host := "127.0.0.1"
		b.UnencryptedHost, b.UnencryptedPort = &host, &port
	}
	return b.Build()
}

func (t *tunnel) accept() {
	defer t.work.Done()
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		if !t.add(conn) {
			return
		}
		t.work.Add(1)
		go func() {
			defer t.work.Done()
			defer t.remove(conn)
			t.forward(conn)
		}()
	}
}

func (t *tunnel) add(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = conn.Close()
		return false
	}
	t.conns[conn] = struct{}{}
	return true
}

func (t *tunnel) remove(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, conn)
	_ = conn.Close()
}

// cut closes the connections that are open now.
func (t *tunnel) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for conn := range t.conns {
		_ = conn.Close()
	}
}

func (t *tunnel) close() {
	_ = t.listener.Close()
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cut()
	t.work.Wait()
}

func (t *tunnel) forward(conn net.Conn) {
	t.sandbox.active(1)
	defer t.sandbox.active(-1)
	f := t.sandbox.cloud.faults.get()
	if f.TunnelTime > 0 {
		timer := time.AfterFunc(f.TunnelTime, func() { _ = conn.Close() })
		defer timer.Stop()
	}
	near, err := t.greet(conn)
	if err != nil {
		return
	}
	far, err := net.Dial("tcp", t.sandbox.address(int(t.spec.GetPort())))
	if err != nil {
		return
	}
	if !t.add(far) {
		return
	}
	defer t.remove(far)
	var down io.Reader = far
	if f.TunnelBytes > 0 {
		down = io.LimitReader(far, f.TunnelBytes)
	}
	pipe(near, far, down)
}

// pipe copies both ways until both have ended. When the far side ends, the near one
// is closed, as a proxy does.
func pipe(near net.Conn, far net.Conn, down io.Reader) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, near) // either side may go away
		if c, ok := far.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}()
	_, _ = io.Copy(near, down)
	_ = near.Close()
	_ = far.Close()
	<-done
}

// greet makes the caller's end of the tunnel: TLS, if that is how it begins.
func (t *tunnel) greet(conn net.Conn) (net.Conn, error) {
	if t.spec.GetUnencrypted() {
		return conn, nil // the other side may begin
	}
	protocols := []string{"http/1.1"}
	if t.spec.GetTunnelType() == pb.TunnelType_TUNNEL_TYPE_H2 {
		protocols = []string{"h2"}
	}
	return greet(conn, t.sandbox.cloud.certificate, protocols)
}

// greet makes one end of a connection: TLS, if that is how the other begins.
func greet(conn net.Conn, certificate func() (tls.Certificate, error), protocols []string) (net.Conn, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, err
	}
	begun := &begunConn{Conn: conn, first: first}
	if first[0] != 22 { // a TLS handshake
		return begun, nil
	}
	cert, err := certificate()
	if err != nil {
		return nil, err
	}
	return tls.Server(begun, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protocols, MinVersion: tls.VersionTLS12}), nil
}

// begunConn gives back what has been read of a connection.
type begunConn struct {
	net.Conn
	first []byte
}

func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// eitherConn greets with the first use.
type eitherConn struct {
	net.Conn
	greet func() (net.Conn, error)
}

func (c *eitherConn) Read(p []byte) (int, error) {
	conn, err := c.greet()
	if err != nil {
		return 0, err
	}
	return conn.Read(p)
}

func (c *eitherConn) Write(p []byte) (int, error) {
	conn, err := c.greet()
	if err != nil {
		return 0, err
	}
	return conn.Write(p)
}

// newCertificate makes the certificate of the tunnels. Nobody trusts it.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fake Modal"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
