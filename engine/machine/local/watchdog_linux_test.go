package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// watchdogs are the living watchdogs of the place.
func (pl *place) watchdogs() []int { return processesWith("watchdog\x00" + pl.p.Dir) }

// TestAttacks has a machine do nothing about its end, as after code inside has become its
// runtime or its loader, and ask to be parked.
func TestAttacks(t *testing.T) {
	for _, kind := range own() {
		attack.Run(t, []attack.Row{{Name: "machine-outlives-its-end", Isolation: kind, Want: "its time was over", Try: func(t *testing.T, defended bool) error {
			pl := newPlace(t)
			pl.p.watchdog.off = !defended
			spec := pl.spec("late", kind)
			spec.EndUnix = time.Now().Add(-time.Hour).Unix()
			if !defended {
				if out := pl.up(spec).run(`print("alive")`); out != "alive" {
					t.Fatal(out)
				}
				return nil
			}
			step, err := pl.create(spec)
			if err != nil {
				t.Fatal(err)
			}
			return errors.New(pl.await(step.Handle, sdk.Stopped).Message) // a slow computer never sees it run
		}}})
	}
}

// TestWatchdog has one watchdog for all machines, which is started again when it was
// killed, and ends after the last machine.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	spec := func(name string) sdk.MachineSpec {
		s := pl.spec(name, isolation.Bubblewrap)
		s.EndUnix = time.Now().Add(time.Hour).Unix()
		return s
	}
	var boxes [3]*box
	var all sync.WaitGroup
	for i := range boxes {
		all.Go(func() { boxes[i] = pl.up(spec(fmt.Sprint("w", i))) })
	}
	all.Wait()
	var one []int
	eventually(t, "one watchdog", func() bool { // others may have been started at the same time, and end
		one = pl.watchdogs()
		return len(one) == 1
	})
	if listed, err := pl.p.List(context.Background(), "me"); err != nil || len(listed) != 3 || listed[0].EndUnix == 0 {
		t.Errorf("%+v %v", listed, err)
	}
	if err := syscall.Kill(one[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watchdog to be gone", func() bool { return len(pl.watchdogs()) == 0 })
	testkit.EventuallyNil(t, "another watchdog", func() error { // the lock of the first may outlive it for a moment
		seen := pl.observe(boxes[0].handle)
		if now := pl.watchdogs(); len(now) != 1 {
			return fmt.Errorf("%v, and the machine is %+v", now, seen)
		}
		return nil
	})
	for i, b := range boxes {
		if len(pl.watchdogs()) != 1 {
			t.Errorf("no watchdog before the end of machine %d", i)
		}
		b.down()
	}
	eventually(t, "the watchdog to end after the last machine", func() bool { return len(pl.watchdogs()) == 0 })
	if _, err := os.Lstat(watchdog.Lock(pl.p.Dir)); err == nil {
		t.Error("its lock is left")
	}
}

// TestWatchdogWithoutItsFolder removes the state folder under the machines.
func TestWatchdogWithoutItsFolder(t *testing.T) {
	t.Parallel()
	for _, kind := range own() {
		pl := newPlace(t)
		pl.upEnding(kind)
		// The machine may write there meanwhile.
		eventually(t, "the folder to be gone", func() bool { return os.RemoveAll(pl.p.Dir) == nil })
		eventually(t, "the end of machine and watchdog", func() bool { return len(processesWith(pl.base)) == 0 })
		if err := os.RemoveAll(pl.p.RuntimeDir); err != nil {
			t.Error(err)
		}
	}
}

// TestWatchdogWaitsForASave ends no machine that somebody saves, and ends it afterwards.
func TestWatchdogWaitsForASave(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	spec := pl.spec("saved", isolation.Bubblewrap)
	spec.EndUnix = time.Now().Add(time.Hour).Unix()
	b := pl.up(spec)
	lock, err := pl.p.lock(context.Background(), b.handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release() }) // else the end of a failed test would wait for it
	tried := opened(t, pl.p.lockPath(b.handle))
	n, err := pl.p.folder(b.handle).read()
	if err != nil {
		t.Fatal(err)
	}
	n.EndUnix = time.Now().Add(-time.Hour).Unix()
	if err := pl.p.folder(b.handle).write(n); err != nil { // which the watchdog sees
		t.Fatal(err)
	}
	eventually(t, "the watchdog to wait", tried)
	if out := b.run(`print("alive")`); out != "alive" {
		t.Error(out)
	}
	lock.Release()
	if o := pl.await(b.handle, sdk.Stopped); !strings.Contains(o.Message, "its time was over") {
		t.Errorf("%+v", o)
	}
}

// opened tells whether a file was opened from now on.
func opened(t *testing.T, path string) func() bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		n, _ := unix.Read(fd, make([]byte, 4096))
		return n > 0
	}
}

// TestWatchdogThatCannotStart is no machine without one.
func TestWatchdogThatCannotStart(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	for _, argv := range [][]string{{"/nowhere/watchdog"}, {"/bin/false"}} {
		pl.p.watchdog.argv = argv
		if _, err := pl.create(pl.spec("none", isolation.Bubblewrap)); err == nil || !strings.Contains(err.Error(), "watchdog") {
			t.Errorf("%v: %v", argv, err)
		}
	}
	pl.empty()
}

// TestWatchdogEndsWithoutMachines is one that is started for nothing.
func TestWatchdogEndsWithoutMachines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := state.Acquire(context.Background(), watchdog.Lock(dir))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // where another one is, and where none is
		out, err := exec.Command("/proc/self/exe", "watchdog", dir).CombinedOutput()
		if err != nil || string(out) != "ready\n" {
			t.Errorf("%q %v", out, err)
		}
		lock.Remove()
	}
}

// TestSweepLeavesTheWatchdogsLock: a watchdog that starts while it is held would end.
func TestSweepLeavesTheWatchdogsLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "locks", handleOf("gone"))
	err := errors.Join(os.Mkdir(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600), os.WriteFile(watchdog.Lock(dir), nil, 0o600), os.WriteFile(watchdog.Lock(dir)+"-2", nil, 0o600), Sweep(dir, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	// The second is that of another computer.
	if left, _ := filepath.Glob(filepath.Join(dir, "locks", "*")); len(left) != 2 || left[0] != watchdog.Lock(dir) {
		t.Errorf("left are %v", left)
	}
}
