package runtime

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
)

// getPort makes the request's connection one to a port of the sandbox.
func (s *Server) getPort(w http.ResponseWriter, r *http.Request) error {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil || port == 0 {
		return protocol.Errorf(protocol.Invalid, "%q is not a port of the sandbox: a number from 1 to 65535", r.PathValue("port"))
	}
	if r.Header.Get("Upgrade") != protocol.PortProtocol {
		return protocol.Errorf(protocol.Unsupported, "a port is connected only to a client that asks for the upgrade to %s", protocol.PortProtocol)
	}
	use := s.lease.Port(time.Now())
	defer use.Close()
	target, err := portforward.DialLocal(r.Context(), int(port))
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
	portforward.Join(r.Context(), conn, target, func() { use.Pass(time.Now()) })
	return nil
}
