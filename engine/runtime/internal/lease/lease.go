// Package lease decides when the machine ends, and tells the loader.
package lease

import (
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// Lease decides when the machine ends.
type Lease struct {
	mu       sync.Mutex
	kind     protocol.LeaseKind
	end      time.Time
	idle     time.Duration // 0 = off
	hard     time.Time     // zero = none
	reported time.Time     // the end that the loader knows

	heard   time.Time     // until when a standstill is made up for
	excused time.Duration // of the present lease

	uses    int // requests under way that count as use
	ports   map[*PortUse]struct{}
	lastUse time.Time
}

// New makes the lease of a machine that has just started: it ends after first, and at
// the latest at hard, unless that is zero.
func New(now time.Time, first time.Duration, hard time.Time) *Lease {
	return &Lease{kind: protocol.LeaseBoot, end: now.Add(first), hard: hard, lastUse: now}
}

// State is what a later runtime needs to go on with the lease.
type State struct {
	Kind    protocol.LeaseKind
	End     time.Time
	Idle    time.Duration
	LastUse time.Time
}

// State returns what [Lease.Restore] takes.
func (l *Lease) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Kind: l.kind, End: l.end, Idle: l.idle, LastUse: l.lastUse}
}

// Restore continues the lease of an earlier runtime. The hard end stays.
func (l *Lease) Restore(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kind, l.end, l.idle, l.lastUse = s.Kind, s.End, s.Idle, s.LastUse
}

// Replace replaces everything of the lease: the machine has become another one.
func (l *Lease) Replace(now time.Time, first time.Duration, hard time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kind, l.idle, l.lastUse, l.hard, l.end = protocol.LeaseBoot, 0, now, hard, now.Add(first)
}

// quietPort is after how long a connection to a port through which nothing goes is no
// use any more: its client may be gone, and nobody may ever tell.
const quietPort = time.Minute

// PortUse is an open connection to a port.
type PortUse struct {
	lease  *Lease
	passed time.Time // when something last went through it
}

// Port notes a connection to a port until its close.
func (l *Lease) Port(now time.Time) *PortUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &PortUse{lease: l, passed: now}
	if l.ports == nil {
		l.ports = map[*PortUse]struct{}{}
	}
	l.ports[p], l.lastUse = struct{}{}, p.passed
	return p
}

// Pass notes that something went through the connection.
func (p *PortUse) Pass(now time.Time) {
	p.lease.mu.Lock()
	defer p.lease.mu.Unlock()
	p.passed, p.lease.lastUse = now, now
}

// Close ends the use that the connection was.
func (p *PortUse) Close() {
	p.lease.mu.Lock()
	defer p.lease.mu.Unlock()
	delete(p.lease.ports, p)
}

// Take replaces the lease. Switching the idle rule on counts as use, because
// nobody could have known of it before.
func (l *Lease) Take(req protocol.LeaseRequest) error {
	if req.Kind != protocol.LeaseAttached && req.Kind != protocol.LeaseDetached {
		return protocol.Errorf(protocol.Invalid, "the lease kind %q is neither attached nor detached", req.Kind)
	}
	if !(req.TTLSeconds > 0 && req.TTLSeconds < 1e9) || !(req.IdleSeconds >= 0 && req.IdleSeconds < 1e9) {
		return protocol.Errorf(protocol.Invalid, "a lease needs ttl_seconds above 0 and idle_seconds of at least 0")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.kind, l.end = req.Kind, now.Add(httpx.Seconds(req.TTLSeconds))
	l.heard, l.excused = now, 0
	if idle := httpx.Seconds(req.IdleSeconds); idle != l.idle {
		l.idle, l.lastUse = idle, now
	}
	return nil
}

// Extend makes up for a time until now in which nobody could.
func (l *Lease) Extend(now time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.heard = l.end.Add(d), now
	l.excuse(now, d)
}

const (
	standstill = time.Second     // without a look for so long only who has not run at all
	excusable  = 2 * time.Minute // in many standstills, until the lease is renewed
)

// ExcuseStandstill makes up for a standstill since the last look: what renews the lease may wait to
// be read. A deadline stays what it is; and who stands still again and again, as on a starved
// machine, is not excused for ever.
func (l *Lease) ExcuseStandstill(now, last time.Time) {
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
func (l *Lease) excuse(now time.Time, d time.Duration) {
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

// Begin marks the beginning of a use and returns its end.
func (l *Lease) Begin() func() {
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

// Touch notes a use at a time.
func (l *Lease) Touch(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(l.lastUse) {
		l.lastUse = t
	}
}

// Used reports whether a request or a connection is use now, and the last use.
func (l *Lease) Used(now time.Time) (bool, time.Time) {
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

// Ended says why the lease is over; empty while it is not. busy is whether anything is use.
func (l *Lease) Ended(now time.Time, busy bool) string {
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

// unreported is when the lease ends if it is not renewed, and whether the loader knows that,
// to the second.
func (l *Lease) unreported() (end time.Time, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.end.Sub(l.reported)
	return l.end, -time.Second < d && d < time.Second
}

// setReported notes what the loader knows.
func (l *Lease) setReported(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reported = end
}

// Describe is the lease as clients see it.
func (l *Lease) Describe() protocol.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := time.Now().Add(time.Until(l.end)) // by the clock of the day, which goes on while a computer sleeps
	d := protocol.Lease{Kind: l.kind, EndUnix: end.Unix(), IdleSeconds: l.idle.Seconds(), NowUnix: time.Now().Unix()}
	if !l.hard.IsZero() {
		d.HardEndUnix = l.hard.Unix()
		d.EndUnix = min(d.EndUnix, d.HardEndUnix)
	}
	return d
}
