package testkit

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
)

// Listen listens until the test ends.
func Listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Loopback listens at a free TCP port of loopback until the test ends.
func Loopback(t testing.TB) net.Listener {
	t.Helper()
	return Listen(t, "tcp", "127.0.0.1:0")
}

// UnixSocket listens at a Unix socket in a [ShortDir] until the test ends.
func UnixSocket(t testing.TB) net.Listener {
	t.Helper()
	return Listen(t, "unix", filepath.Join(ShortDir(t), "s"))
}

// Serve has handle serve each connection of l in a goroutine of its own, until l is closed.
// A connection is closed when handle returns. Serve returns l.
func Serve(l net.Listener, handle func(net.Conn)) net.Listener {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return l
}

// Say serves connections by sending them a text.
func Say(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

// Echo serves a connection by sending back what it gets.
func Echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }

// Echoes sends a text, ends what is sent, and checks that the text comes back. It closes conn.
func Echoes(conn net.Conn, text string) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err == nil && string(got) != text {
		err = fmt.Errorf("%d bytes of %d came back", len(got), len(text))
	}
	return err
}

// PingPong measures how long so many bytes take to an [Echo] and back.
func PingPong(b *testing.B, conn net.Conn, size int) {
	buf := make([]byte, size)
	for b.Loop() {
		if _, err := conn.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buf); err != nil {
			b.Fatal(err)
		}
	}
}

// Port is the TCP port of a listener.
func Port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// FreePort returns a TCP port of loopback that stays free until the test listens at it.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := container.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// ServeHTTP serves HTTP requests at l until the test ends. It logs nothing.
func ServeHTTP(t testing.TB, l net.Listener, h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	_ = server.Listener.Close()
	server.Listener, server.Config.ErrorLog = l, log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Bearer sends requests with a token.
type Bearer string

// RoundTrip implements [http.RoundTripper].
func (b Bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
