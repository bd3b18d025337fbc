package runtime

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// TestQuietPort has a connection through which nothing goes keep nothing for long.
func TestQuietPort(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := lease{end: now.Add(time.Hour), idle: 2 * time.Second}
	at := func(d time.Duration) bool { return l.at(now.Add(d)) == "" }
	p := l.port(now)
	if !at(quietPort - time.Second) {
		t.Error("it ended under a connection that has just begun")
	}
	if at(quietPort + time.Second) {
		t.Error("it lasts under a quiet connection")
	}
	now = now.Add(quietPort)
	l.extend(now, quietPort) // all stood still
	if !at(quietPort - time.Second) {
		t.Error("it ended for the time in which all stood still")
	}
	now = now.Add(quietPort)
	p.pass(now)
	other := l.port(now)
	other.close()
	if !at(quietPort-time.Second) || at(quietPort+time.Second) {
		t.Error("what has gone through is not counted")
	}
	p.close()
	if at(3*time.Second) || !at(time.Second) {
		t.Error("it does not end in time after the last connection")
	}
}

// at says why the lease is over at a time; empty while it is not.
func (l *lease) at(now time.Time) string {
	busy, _ := l.used(now)
	return l.ended(now, busy)
}

// TestUnheard has a machine stand still, so that nobody is heard for a while.
func TestUnheard(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for kind, lives := range map[protocol.LeaseKind]bool{protocol.LeaseBoot: true, protocol.LeaseAttached: true, protocol.LeaseDetached: false} {
		l := lease{kind: kind, end: now.Add(time.Minute), lastUse: now, hard: now.Add(2 * time.Hour), idle: time.Minute}
		l.unheard(now.Add(time.Hour), now)
		if why := l.at(now.Add(time.Hour + 59*time.Second)); (why == "") != lives {
			t.Errorf("%s: %q", kind, why)
		}
		if why := l.at(now.Add(time.Hour + 61*time.Second)); why == "" {
			t.Errorf("%s: it lives longer than it would have", kind)
		}
		l.excused = 0
		l.unheard(now.Add(3*time.Hour), now.Add(time.Hour))
		if why := l.at(now.Add(2*time.Hour + time.Second)); why != "the machine's time is over" {
			t.Errorf("%s: its hard end was put off: %q", kind, why)
		}
	}
	l := lease{end: now.Add(time.Hour), lastUse: now, idle: time.Minute}
	l.touch(now.Add(time.Hour)) // heard before the time was made up for
	l.unheard(now.Add(time.Hour), now)
	if why := l.at(now.Add(time.Hour + 61*time.Second)); why == "" {
		t.Error("it was used in the future")
	}
}

// TestStarved has a machine hardly run at all: its lease ends nevertheless, unless it is renewed.
func TestStarved(t *testing.T) {
	t.Parallel()
	lives := func(renewed bool) time.Duration {
		l := lease{kind: protocol.LeaseAttached, end: time.Now().Add(time.Hour)}
		start := time.Now()
		for last := start; last.Before(start.Add(4 * time.Hour)); last = last.Add(1500 * time.Millisecond) {
			now := last.Add(1400 * time.Millisecond)
			if renewed {
				l.excused = 0
			}
			l.unheard(now, last)
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
	l := lease{kind: protocol.LeaseAttached}
	now := time.Now()
	l.extend(now.Add(time.Hour), time.Hour)
	end := l.end
	if l.unheard(now.Add(time.Hour), now); !l.end.Equal(end) {
		t.Error("a time that was made up for counts twice")
	}
}

// The loader forgets the lease while everything stands still, and is told it after that: it
// would not end a machine whose runtime was stopped.
func TestLeaseIsToldAfterStillness(t *testing.T) {
	t.Parallel()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	hand, loader := os.NewFile(uintptr(fds[0]), "hand"), os.NewFile(uintptr(fds[1]), "loader")
	t.Cleanup(func() { hand.Close(); loader.Close() })
	heard := make(chan string, 8)
	go func() {
		defer close(heard)
		data := make([]byte, 4096)
		for {
			n, err := loader.Read(data)
			if err != nil {
				return
			}
			var m struct{ T string }
			if json.Unmarshal(data[:n], &m) != nil {
				return
			}
			if m.T == "release" {
				_, _ = loader.Write([]byte("{}"))
			}
			heard <- m.T
		}
	}()
	s := &Server{options: Options{Loader: hand, Logger: slog.New(slog.DiscardHandler)}}
	s.lease.end = time.Now().Add(time.Hour)
	s.tellLease(time.Now())
	newStillness(s, "", "", "").end()
	s.tellLease(time.Now())
	s.tellLease(time.Now()) // it knows
	newStillness(s, "", "", "").end()
	for i, want := range []string{"lease", "release", "lease", "release"} {
		if got := <-heard; got != want {
			t.Fatalf("message %d is %q, not %q", i+1, got, want)
		}
	}
}

// TestCarry has all bytes go through, however often it is looked at.
func TestCarry(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]func() (net.Listener, error){
		"TCP":  func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		"Unix": func() (net.Listener, error) { return net.Listen("unix", filepath.Join(t.TempDir(), "s")) },
	} {
		t.Run(name, func(t *testing.T) {
			from, in := connected(t, listen)
			out, to := connected(t, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
			var passed atomic.Int64
			carried := make(chan error, 1)
			go func() {
				err := carry(to, from, time.Millisecond, func() { passed.Add(1) })
				to.Close()
				carried <- err
			}()
			time.Sleep(20 * time.Millisecond)
			if n := passed.Load(); n != 0 {
				t.Errorf("bytes have passed %d times before the first", n)
			}
			data := make([]byte, 8<<20)
			rand.Read(data)
			go func() {
				for i := 0; i < len(data); i += 1 << 20 {
					_, _ = in.Write(data[i : i+1<<20])
					time.Sleep(3 * time.Millisecond)
				}
				in.Close()
			}()
			got, err := io.ReadAll(out)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes, %v", len(got), len(data), err)
			}
			if err := <-carried; err != nil || passed.Load() == 0 {
				t.Errorf("%v, passed %d times", err, passed.Load())
			}
		})
	}
}

// connected is a connection: its two ends.
func connected(t *testing.T, listen func() (net.Listener, error)) (near, far net.Conn) {
	t.Helper()
	l, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial(l.Addr().Network(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}
