package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

// join passes bytes between two connections until both directions have ended, or ctx. The
// end of one direction is passed on alone where the connection can say it: many protocols
// answer behind the end of the question.
func join(ctx context.Context, a, b net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		a.Close()
		b.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { oneWay(a, b) })
	both.Go(func() { oneWay(b, a) })
	both.Wait()
	a.Close()
	b.Close()
}

// oneWay passes bytes on to their end. Who takes no more bytes may still have said
// something; a connection that broke has not.
func oneWay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, can := to.(interface{ CloseWrite() error })
	switch {
	case err == nil && can && half.CloseWrite() == nil:
	case errors.Is(err, syscall.EPIPE):
	default:
		to.Close()
		from.Close()
	}
}
