package client

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// DialPort connects to a port of the sandbox itself: 127.0.0.1:port there, or ::1 where
// only that listens. Through a tunnel the connection survives being cut. The result has
// CloseWrite, which ends the stream in one direction. A port on which nobody listens is
// [protocol.Unavailable]. ctx limits the dialling alone.
func (c *Client) DialPort(ctx context.Context, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, protocol.Errorf(protocol.Invalid, "%d is not a port: they go from 1 to 65535", port)
	}
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	p, err := c.openPort(ctx, conn, port)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return p, nil
}

func (c *Client) openPort(ctx context.Context, conn net.Conn, port int) (net.Conn, error) {
	req, err := c.request(ctx, http.MethodGet, "/v1/ports/"+strconv.Itoa(port), nil, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol.PortProtocol)
	if err := req.Write(conn); err != nil {
		return nil, c.unreachable(err)
	}
	r := bufio.NewReaderSize(conn, 4<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, c.unreachable(protocol.NoEOF(err))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return nil, c.readError(resp)
	}
	early, err := r.Peek(r.Buffered())
	if err != nil {
		return nil, err
	}
	return &portConn{Conn: conn, early: early}, nil
}

// portConn is a connection to a port. What came together with the answer is read first.
type portConn struct {
	net.Conn
	early []byte
}

func (p *portConn) Read(b []byte) (int, error) {
	if len(p.early) > 0 {
		n := copy(b, p.early)
		p.early = p.early[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// CloseWrite ends the stream to the port: the program there reads its end.
func (p *portConn) CloseWrite() error {
	return p.Conn.(interface{ CloseWrite() error }).CloseWrite() // of a Unix socket or a link
}
