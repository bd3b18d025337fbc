package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// join passes bytes between two connections until both directions have ended, or ctx. The
// end of one direction is passed on alone where the connection can say it: many protocols
// answer behind the end of the question. passed, which may be nil, is told now and then
// that bytes have gone through.
func join(ctx context.Context, a, b net.Conn, passed func()) {
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
