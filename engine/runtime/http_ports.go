package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// getPort makes the request's connection one to a port of the sandbox.
func (s *Server) getPort(w http.ResponseWriter, r *http.Request) error {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil || port == 0 {
		return protocol.Errorf(protocol.Invalid, "%q is no port of the sandbox: a number from 1 to 65535", r.PathValue("port"))
	}
	if r.Header.Get("Upgrade") != protocol.PortProtocol {
		return protocol.Errorf(protocol.Unsupported, "a port is connected only to a client that asks for the upgrade to %s", protocol.PortProtocol)
	}
	use := s.lease.port(time.Now())
	defer use.close()
	target, err := dialLocal(r.Context(), int(port))
	if err != nil {
		return err
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		target.Close()
		return protocol.Errorf(protocol.Unsupported, "this connection cannot become one to a port: %v", err)
	}
	yes := "HTTP/1.1 101 Switching Protocols\r\nSeer: 1\r\nConnection: Upgrade\r\nUpgrade: " + protocol.PortProtocol + "\r\n\r\n"
	_, err = io.WriteString(conn, yes)
	if err == nil {
		_, err = io.CopyN(target, buffered, int64(buffered.Reader.Buffered())) // sent before the answer
	}
	if err != nil {
		conn.Close()
		target.Close()
		return nil
	}
	join(r.Context(), conn, target, func() { use.pass(time.Now()) })
	return nil
}

// dialLocal connects to a port of the sandbox: some programs listen only on ::1.
func dialLocal(ctx context.Context, port int) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	text := strconv.Itoa(port)
	conn, err := d.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", text))
	if err != nil && ctx.Err() == nil {
		if other, otherErr := d.DialContext(ctx, "tcp6", net.JoinHostPort("::1", text)); otherErr == nil {
			return other, nil
		}
	}
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, protocol.Errorf(protocol.Unavailable, "nobody listens on the port %d of the sandbox", port)
	}
	return nil, protocol.Errorf(protocol.Unavailable, "the port %d of the sandbox cannot be reached: %v", port, err)
}
