package notebook

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// goneAfter is how long nothing has to listen at the socket of a server that has
// answered before, until its sandbox is taken for one that has ended.
const goneAfter = 3 * time.Second

// presence is what a client has seen of its server. It is safe for concurrent use.
type presence struct {
	answered atomic.Bool
	gone     atomic.Int64 // when it was first seen to be gone since it last answered, in Unix nanoseconds; 0 = it was not
}

// note takes in how a request went.
func (p *presence) note(err error) {
	switch {
	case !passing(err):
		p.answered.Store(true)
		p.gone.Store(0)
	case gone(err):
		p.gone.CompareAndSwap(0, time.Now().UnixNano())
	default:
		p.gone.Store(0)
	}
}

// over reports whether the sandbox has ended, as far as can be told.
func (p *presence) over(err error) bool {
	first := p.gone.Load()
	return p.answered.Load() && gone(err) && first != 0 && time.Since(time.Unix(0, first)) > goneAfter
}

// gone reports whether nothing is at a socket that is there for as long as its sandbox.
// A port that nobody listens at is not that: Jupyter may be starting again.
func gone(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && op.Net == "unix" {
		return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
	}
	var name *net.DNSError // this computer may be without a network
	return protocol.Ended(err) && !errors.As(err, &name)
}
