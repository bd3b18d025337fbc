package runtime

import (
	"net"
	"net/http"
	"sync"
)

// door is where clients come in: the socket that was inherited, and those after it.
type door struct {
	mu     sync.Mutex
	srv    *http.Server
	l      net.Listener // nil while it is closed
	failed chan error
}

// serve answers on l, until that is closed by [door.close]. What ends it otherwise is told
// to failed.
func (d *door) serve(l net.Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l = l
	go func() {
		err := d.srv.Serve(l)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.l == l {
			d.failed <- err
		}
	}()
}

// close lets go of the socket. Connections stay.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.l != nil {
		l := d.l
		d.l = nil
		l.Close()
	}
}
