package notebook

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/client"
)

const (
	// goneAfter is how long nothing has to listen at the socket of a server that has
	// answered before, until its sandbox is taken for one that has ended.
	goneAfter = 3 * time.Second
	// goneLooks is how many looks, one after another, have to show that: a client that stood still
	// has seen nothing of the time in between.
	goneLooks = 5
	// goneApart is how far apart looks have to be to count, for a client makes several requests at a time.
	goneApart = 50 * time.Millisecond
)

// presence is what a client has seen of its server. It is safe for concurrent use.
type presence struct {
	mu       sync.Mutex
	answered bool
	first    time.Time // when it was first seen to be gone since it last answered
	last     time.Time // the last look that counts
	looks    int       // since first; 0 = it is not gone
}

// note takes in how a request went.
func (p *presence) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = p.answered || !passing(err)
	now := time.Now()
	switch {
	case !passing(err), !gone(err):
		p.looks = 0
	case p.looks == 0:
		p.first, p.last, p.looks = now, now, 1
	case now.Sub(p.last) >= goneApart:
		p.last, p.looks = now, p.looks+1
	}
}

// over reports whether the sandbox has ended, as far as can be told.
func (p *presence) over(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered && gone(err) && p.looks >= goneLooks && time.Since(p.first) > goneAfter
}

// gone reports whether nothing is at a socket that is there for as long as its sandbox.
// A port that nobody listens at is not that: Jupyter may be starting again.
func gone(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && op.Net == "unix" {
		return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
	}
	var name *net.DNSError // this computer may be without a network
	return client.Ended(err) && !errors.As(err, &name)
}
