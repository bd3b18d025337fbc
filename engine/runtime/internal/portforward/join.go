package portforward

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Join passes bytes between two connections until both directions have ended, or ctx. The
// end of one direction is passed on alone where the connection can say it: many protocols
// answer behind the end of the question. passed, which may be nil, is told now and then
// that bytes have gone through.
func Join(ctx context.Context, a, b net.Conn, passed func()) {
	stop := context.AfterFunc(ctx, func() {
		a.Close()
		b.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { oneWay(a, b, passed) })
	both.Go(func() { oneWay(b, a, passed) })
	both.Wait()
	a.Close()
	b.Close()
}

// oneWay passes bytes on to their end. Who takes no more bytes may still have said
// something; a connection that broke has not.
func oneWay(to, from net.Conn, passed func()) {
	err := carry(to, from, passEvery, passed)
	half, can := to.(interface{ CloseWrite() error })
	switch {
	case err == nil && can && half.CloseWrite() == nil:
	case errors.Is(err, syscall.EPIPE):
	default:
		to.Close()
		from.Close()
	}
}

// passEvery is how often it is told that bytes have gone through.
const passEvery = 5 * time.Second

// carry copies to the end, in pieces of time instead of bytes: so the kernel can do it.
func carry(to, from net.Conn, every time.Duration, passed func()) error {
	if passed == nil {
		_, err := io.Copy(to, from)
		return err
	}
	for {
		if err := from.SetReadDeadline(time.Now().Add(every)); err != nil {
			return err
		}
		n, err := io.Copy(to, from)
		if n > 0 {
			passed()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}

// DialLocal connects to a port of the sandbox: some programs listen only on ::1.
func DialLocal(ctx context.Context, port int) (net.Conn, error) {
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
