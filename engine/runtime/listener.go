package runtime

import (
	"net"
	"net/http"
	"sync"
)

// clientListener is where clients come in: the socket that was inherited, and those after it.
type clientListener struct {
	mu     sync.Mutex
	srv    *http.Server
	l      net.Listener // nil while it is closed
	failed chan error
}

// Serve answers on l, until that is closed by [clientListener.Close]. What ends it otherwise goes to
// failed.
func (c *clientListener) Serve(l net.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.l = l
	go func() {
		err := c.srv.Serve(l)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.l == l {
			c.failed <- err
		}
	}()
}

// Close lets go of the socket. Connections stay.
func (c *clientListener) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.l != nil {
		l := c.l
		c.l = nil
		l.Close()
	}
}
