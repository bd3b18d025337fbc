package fakemodal

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
)

// endpoint is a listener whose connections can all be cut.
type endpoint struct {
	net.Listener
	greet func(net.Conn) (net.Conn, error) // plain text or TLS
	mu    sync.Mutex
	conns map[string]net.Conn // by the other end's address
	down  bool
}

func listen(address string, certificate func() (tls.Certificate, error)) (*endpoint, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("fake Modal: %w", err)
	}
	return &endpoint{Listener: l, conns: map[string]net.Conn{}, greet: func(conn net.Conn) (net.Conn, error) {
		return greet(conn, certificate, []string{"h2"})
	}}, nil
}

// Accept closes what arrives while the endpoint is down.
func (e *endpoint) Accept() (net.Conn, error) {
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		if e.down {
			e.mu.Unlock()
			_ = conn.Close()
			continue
		}
		tracked := &trackedConn{Conn: conn, forget: e.forget}
		e.conns[conn.RemoteAddr().String()] = tracked
		e.mu.Unlock()
		return &eitherConn{Conn: tracked, greet: sync.OnceValues(func() (net.Conn, error) { return e.greet(tracked) })}, nil
	}
}

func (e *endpoint) forget(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, address)
}

// cut closes the connection that comes from an address.
func (e *endpoint) cut(address string) {
	e.mu.Lock()
	conn := e.conns[address]
	e.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// setDown closes every connection and refuses new ones, or ends that.
func (e *endpoint) setDown(down bool) {
	e.mu.Lock()
	e.down = down
	var conns []net.Conn
	if down {
		for _, conn := range e.conns {
			conns = append(conns, conn)
		}
	}
	e.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

type trackedConn struct {
	net.Conn
	forget func(string)
}

func (c *trackedConn) Close() error {
	c.forget(c.RemoteAddr().String())
	return c.Conn.Close()
}
