package machine

import "time"

// LeaseKind says what keeps a sandbox alive.
type LeaseKind string

// The kinds of [Lease].
const (
	Attached LeaseKind = "attached" // heartbeats of the program that started it
	Detached LeaseKind = "detached" // a deadline, extended by use
)

// Lease is how long a sandbox may live without a sign of somebody who needs it.
// The runtime keeps the same lease and ends the machine by itself; the ledger's
// copy lets the garbage collector do it for one that cannot.
type Lease struct {
	Kind        LeaseKind `json:"kind,omitempty"`
	TTLSeconds  int64     `json:"ttl_seconds,omitempty"`  // how long a heartbeat or use lasts
	IdleSeconds int64     `json:"idle_seconds,omitempty"` // 0 = no idle end
	Heartbeat   time.Time `json:"heartbeat,omitzero"`     // the last sign of life that the ledger knows of
	End         time.Time `json:"end,omitzero"`           // zero = not limited by the lease
}

// NewLease makes a lease that runs from now.
func NewLease(kind LeaseKind, ttl time.Duration, now time.Time) Lease {
	l := Lease{Kind: kind, TTLSeconds: int64(ttl / time.Second)}
	return l.Extend(now)
}

// Extend is the lease after a sign of life at now.
func (l Lease) Extend(now time.Time) Lease {
	l.Heartbeat = now
	if l.TTLSeconds > 0 {
		l.End = now.Add(time.Duration(l.TTLSeconds) * time.Second)
	}
	return l
}

// Expired reports whether the lease has ended at now.
func (l Lease) Expired(now time.Time) bool { return !l.End.IsZero() && now.After(l.End) }

// Overdue reports that the machine should have ended by itself some time ago, and has not
// been seen to.
func (r *Record) Overdue(now time.Time) bool {
	return r.Live() && !r.HardEnd.IsZero() && now.After(r.HardEnd.Add(grace))
}

// expired says why a sandbox has expired, and is empty if it has not.
func (r *Record) expired(now time.Time) string {
	switch {
	case !r.HardEnd.IsZero() && now.After(r.HardEnd):
		return "its timeout has passed"
	case r.Budget > 0 && r.Cost(now) >= r.Budget:
		return "its budget is spent"
	case r.Lease.Expired(now) && r.Lease.Kind == Attached:
		return "the program that started it is gone"
	case r.Lease.Expired(now):
		return "its lease has ended"
	}
	return ""
}
