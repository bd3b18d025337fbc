package runtime

import (
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// lease decides when the machine ends.
type lease struct {
	mu   sync.Mutex
	kind protocol.LeaseKind
	end  time.Time
	idle time.Duration // 0 = off
	hard time.Time     // zero = none
	told time.Time     // the end that the loader knows

	heard   time.Time     // until when a standstill is made up for
	excused time.Duration // of the present lease

	uses    int // requests under way that count as use
	ports   map[*portUse]struct{}
	lastUse time.Time
}

// quietPort is after how long a connection to a port through which nothing goes is no
// use any more: its client may be gone, and nobody may ever tell.
const quietPort = time.Minute

// portUse is an open connection to a port.
type portUse struct {
	lease  *lease
	passed time.Time // when something last went through it
}

// port notes a connection to a port until its close.
func (l *lease) port(now time.Time) *portUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &portUse{lease: l, passed: now}
	if l.ports == nil {
		l.ports = map[*portUse]struct{}{}
	}
	l.ports[p], l.lastUse = struct{}{}, p.passed
	return p
}

// pass notes that something went through the connection.
func (p *portUse) pass(now time.Time) {
	p.lease.mu.Lock()
	defer p.lease.mu.Unlock()
	p.passed, p.lease.lastUse = now, now
}

func (p *portUse) close() {
	p.lease.mu.Lock()
	defer p.lease.mu.Unlock()
	delete(p.lease.ports, p)
}

// take replaces the lease. Switching the idle rule on counts as use, because
// nobody could have known of it before.
func (l *lease) take(req protocol.LeaseRequest) error {
	if req.Kind != protocol.LeaseAttached && req.Kind != protocol.LeaseDetached {
		return protocol.Errorf(protocol.Invalid, "the lease kind %q is neither attached nor detached", req.Kind)
	}
	if !(req.TTLSeconds > 0 && req.TTLSeconds < 1e9) || !(req.IdleSeconds >= 0 && req.IdleSeconds < 1e9) {
		return protocol.Errorf(protocol.Invalid, "a lease needs ttl_seconds above 0 and idle_seconds of at least 0")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.kind, l.end = req.Kind, now.Add(seconds(req.TTLSeconds))
	l.heard, l.excused = now, 0
	if idle := seconds(req.IdleSeconds); idle != l.idle {
		l.idle, l.lastUse = idle, now
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// extend makes up for a time until now in which nobody could.
func (l *lease) extend(now time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.heard = l.end.Add(d), now
	l.excuse(now, d)
}

const (
	standstill = time.Second     // without a look for so long only who has not run at all
	excusable  = 2 * time.Minute // in many standstills, until the lease is renewed
)

// unheard makes up for a standstill since the last look: what renews the lease may wait to
// be read. A deadline stays what it is; and who stands still again and again, as on a starved
// machine, is not excused for ever.
func (l *lease) unheard(now, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard.After(last) {
		last = l.heard
	}
	d := now.Sub(last)
	if d <= standstill || l.excused > excusable {
		return
	}
	l.excused += d
	if l.kind != protocol.LeaseDetached {
		l.end = l.end.Add(d)
	}
	l.excuse(now, d)
}

// excuse does not count a time until now as one without use. l.mu is held.
func (l *lease) excuse(now time.Time, d time.Duration) {
	later := func(t time.Time) time.Time {
		if t = t.Add(d); t.After(now) {
			return now
		}
		return t
	}
	l.lastUse = later(l.lastUse)
	for p := range l.ports {
		p.passed = later(p.passed)
	}
}

// begin marks the beginning of a use and returns its end.
func (l *lease) begin() func() {
	l.mu.Lock()
	l.uses++
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.uses--
		l.lastUse = time.Now()
	}
}

// touch notes a use at a time.
func (l *lease) touch(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(l.lastUse) {
		l.lastUse = t
	}
}

// used reports whether a request or a connection is use now, and the last use.
func (l *lease) used(now time.Time) (bool, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses > 0 {
		l.lastUse = now
		return true, now
	}
	for p := range l.ports {
		if now.Sub(p.passed) < quietPort {
			return true, l.lastUse
		}
	}
	return false, l.lastUse
}

// ended says why the lease is over; empty while it is not. busy is whether anything is use.
func (l *lease) ended(now time.Time, busy bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.hard.IsZero() && now.After(l.hard):
		return "the machine's time is over"
	case now.After(l.end):
		return "the " + string(l.kind) + " lease has ended"
	case l.idle > 0 && !busy && l.uses == 0 && now.Sub(l.lastUse) > l.idle:
		return "nobody has used the machine for " + l.idle.String()
	}
	return ""
}

// untold is when the lease ends if it is not renewed, and whether the loader knows that,
// to the second.
func (l *lease) untold() (end time.Time, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.end.Sub(l.told)
	return l.end, -time.Second < d && d < time.Second
}

// tell notes what the loader knows.
func (l *lease) tell(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = end
}

func (l *lease) describe() protocol.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := time.Now().Add(time.Until(l.end)) // by the clock of the day, which goes on while a computer sleeps
	d := protocol.Lease{Kind: l.kind, EndUnix: end.Unix(), IdleSeconds: l.idle.Seconds()}
	if !l.hard.IsZero() {
		d.HardEndUnix = l.hard.Unix()
		d.EndUnix = min(d.EndUnix, d.HardEndUnix)
	}
	return d
}
