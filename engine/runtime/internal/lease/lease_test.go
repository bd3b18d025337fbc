package lease

import (
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// TestQuietPort has a connection through which nothing goes keep nothing for long.
func TestQuietPort(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := Lease{end: now.Add(time.Hour), idle: 2 * time.Second}
	at := func(d time.Duration) bool { return l.at(now.Add(d)) == "" }
	p := l.Port(now)
	if !at(quietPort - time.Second) {
		t.Error("it ended under a connection that has just begun")
	}
	if at(quietPort + time.Second) {
		t.Error("it lasts under a quiet connection")
	}
	now = now.Add(quietPort)
	l.Extend(now, quietPort) // all stood still
	if !at(quietPort - time.Second) {
		t.Error("it ended for the time in which all stood still")
	}
	now = now.Add(quietPort)
	p.Pass(now)
	other := l.Port(now)
	other.Close()
	if !at(quietPort-time.Second) || at(quietPort+time.Second) {
		t.Error("what has gone through is not counted")
	}
	p.Close()
	if at(3*time.Second) || !at(time.Second) {
		t.Error("it does not end in time after the last connection")
	}
}

// at says why the lease is over at a time; empty while it is not.
func (l *Lease) at(now time.Time) string {
	busy, _ := l.Used(now)
	return l.Ended(now, busy)
}

// TestUnheard has a machine stand still, so that nobody is heard for a while.
func TestUnheard(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for kind, lives := range map[protocol.LeaseKind]bool{protocol.LeaseBoot: true, protocol.LeaseAttached: true, protocol.LeaseDetached: false} {
		l := Lease{kind: kind, end: now.Add(time.Minute), lastUse: now, hard: now.Add(2 * time.Hour), idle: time.Minute}
		l.ExcuseStandstill(now.Add(time.Hour), now)
		if why := l.at(now.Add(time.Hour + 59*time.Second)); (why == "") != lives {
			t.Errorf("%s: %q", kind, why)
		}
		if why := l.at(now.Add(time.Hour + 61*time.Second)); why == "" {
			t.Errorf("%s: it lives longer than it would have", kind)
		}
		l.excused = 0
		l.ExcuseStandstill(now.Add(3*time.Hour), now.Add(time.Hour))
		if why := l.at(now.Add(2*time.Hour + time.Second)); why != "the machine's time is over" {
			t.Errorf("%s: its hard end was put off: %q", kind, why)
		}
	}
	l := Lease{end: now.Add(time.Hour), lastUse: now, idle: time.Minute}
	l.Touch(now.Add(time.Hour)) // heard before the time was made up for
	l.ExcuseStandstill(now.Add(time.Hour), now)
	if why := l.at(now.Add(time.Hour + 61*time.Second)); why == "" {
		t.Error("it was used in the future")
	}
}

// TestStarved has a machine hardly run at all: its lease ends nevertheless, unless it is renewed.
func TestStarved(t *testing.T) {
	t.Parallel()
	lives := func(renewed bool) time.Duration {
		l := Lease{kind: protocol.LeaseAttached, end: time.Now().Add(time.Hour)}
		start := time.Now()
		for last := start; last.Before(start.Add(4 * time.Hour)); last = last.Add(1500 * time.Millisecond) {
			now := last.Add(1400 * time.Millisecond)
			if renewed {
				l.excused = 0
			}
			l.ExcuseStandstill(now, last)
			if l.at(now) != "" {
				return now.Sub(start)
			}
		}
		return 4 * time.Hour
	}
	if d := lives(false); d < time.Hour+excusable || d > time.Hour+excusable+time.Minute {
		t.Errorf("it lived for %v", d)
	}
	if d := lives(true); d != 4*time.Hour {
		t.Errorf("one whose lease is renewed lived for %v", d)
	}
	l := Lease{kind: protocol.LeaseAttached}
	now := time.Now()
	l.Extend(now.Add(time.Hour), time.Hour)
	end := l.end
	if l.ExcuseStandstill(now.Add(time.Hour), now); !l.end.Equal(end) {
		t.Error("a time that was made up for counts twice")
	}
}
