// Package watchdog ends the machines of this computer whose time is over, from outside:
// nothing that a machine says or does extends its hard end. One watchdog serves a folder
// of machines. It outlives the program that started it, and ends after the last machine.
package watchdog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/state"
)

// LockName begins the name of the file in the folder of locks that a watchdog has locked as long as
// it lives.
const LockName = "watchdog"

// passing is for how long somebody may have the lock who is no watchdog.
const passing = time.Second / 2

// Lock is the path of the lock of the watchdog of a folder of machines. Computers that share the folder
// have a watchdog each, which sees only processes of its own computer.
func Lock(dir string) string {
	return filepath.Join(dir, "locks", LockName+"-"+proc.Here().Name)
}

// limits are times that tests shorten.
type limits struct {
	grace  time.Duration // between a hard end and the kill: a machine ends itself first
	saving time.Duration // how long a machine that is being saved may outlive its end
	look   time.Duration // at most between two looks: the clock may be set, a computer may sleep
	silent int           // looks without an answer after which a machine counts as hung
	answer time.Duration // for one answer

	gpuLook  time.Duration // between two looks at GPUs that are shared
	gpuLooks int           // in a row after which a machine that uses more than its share ends
}

var usual = limits{gpuLook: 2 * time.Second, gpuLooks: 5, grace: 10 * time.Second, saving: 15 * time.Minute, look: time.Minute, silent: 5, answer: 20 * time.Second}

// Main is the program. It writes a line to ready when a watchdog is there: itself, or one
// that was there before. It returns the exit status.
func Main(dir string, ready io.Writer, log io.Writer) int {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) // whoever waits for ready may be gone
	w := newWatchdog(dir, usual)
	if err := w.run(context.Background(), ready); err != nil {
		_, _ = fmt.Fprintln(log, "watchdog:", err)
		return 1
	}
	return 0
}

type watchdog struct {
	dir string
	limits
	machines map[string]*machine // handle → what is known, also once its note is gone
	killing  sync.WaitGroup
	woken    chan struct{} // it is to look now

	ask    gpulease.Asker // who uses the GPUs
	asked  time.Time      // when
	asking atomic.Bool
}

func newWatchdog(dir string, l limits) *watchdog {
	return &watchdog{dir: dir, limits: l, machines: map[string]*machine{}, woken: make(chan struct{}, 1), ask: gpulease.NvidiaSMI}
}

// run serves until no machine is left. Whoever makes a machine writes its note first and
// then looks for the lock; this lets go of the lock first and then looks for notes. So one
// of both sees the other.
func (w *watchdog) run(ctx context.Context, ready io.Writer) error {
	for told := false; ; {
		lock, held, err := w.lock(ctx)
		if !told && (err == nil || held) {
			_, _ = fmt.Fprintln(ready, "ready")
			told = true
		}
		if err != nil || held {
			return err
		}
		w.serve(ctx)
		lock.Remove()
		if w.look(); len(w.machines) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// lock takes the lock unless another watchdog has it. A program that checks for a watchdog, or
// removes old locks, holds the lock for a moment.
func (w *watchdog) lock(ctx context.Context) (lock *state.Lock, held bool, err error) {
	limited, cancel := context.WithTimeout(ctx, passing)
	defer cancel()
	lock, err = state.Acquire(limited, Lock(w.dir))
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, true, nil
	}
	return lock, false, err
}

// serve returns when no machine is left.
func (w *watchdog) serve(ctx context.Context) {
	defer w.changes()()
	defer w.killing.Wait()
	for {
		w.look()
		if len(w.machines) == 0 {
			return
		}
		next := w.act(ctx, time.Now().Round(0))
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-w.woken:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// changes tells of notes that come and go. Where the system cannot, there is a look every
// five seconds.
func (w *watchdog) changes() (stop func()) {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(w.dir); err != nil {
			_ = watcher.Close()
		}
	}
	if err != nil {
		w.limits.look = min(w.limits.look, 5*time.Second)
		return func() {}
	}
	go func() {
		for event := range watcher.Events {
			if handleOf(event.Name) != "" || event.Name == w.dir {
				w.wake()
			}
		}
	}()
	go func() {
		for range watcher.Errors { // an overflow: the next look finds everything
		}
	}()
	return func() { _ = watcher.Close() }
}

// look takes up the machines that have notes, and forgets those that have ended. A
// machine whose note was removed under it is still known.
func (w *watchdog) look() {
	entries, err := os.ReadDir(w.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return // as with too many open files; the next look will tell
	}
	noted := map[string]bool{}
	for _, entry := range entries {
		handle := handleOf(entry.Name())
		if handle == "" {
			continue
		}
		n, err := readNote(filepath.Join(w.dir, entry.Name()))
		if err != nil {
			continue
		}
		noted[handle] = true
		m := w.machines[handle]
		if m == nil || !m.note.CreatedAt.Equal(n.CreatedAt) {
			if m != nil {
				m.forget()
			}
			m = &machine{root: filepath.Join(w.dir, handle), lock: filepath.Join(w.dir, "locks", handle), claims: map[string]*gpulease.Claim{}}
			w.machines[handle] = m
		}
		m.note = n
	}
	for handle, m := range w.machines {
		if !m.lives(noted[handle]) {
			m.forget()
			delete(w.machines, handle)
		}
	}
}

// holdAgain is when another trial is made to hold a GPU whose claim somebody just looked at.
const holdAgain = time.Second

// await has the watchdog look when a machine with a GPU ends, so that the GPU is free at once.
func (w *watchdog) await(m *machine) {
	p := m.processes()
	if m.awaited || len(m.note.Claims) == 0 || p.Outer.PID == 0 {
		return
	}
	m.awaited = true
	go func() {
		waitEnd(p.Outer)
		waitEnd(p.Inner)
		w.wake()
	}()
}

// wake has the watchdog look now.
func (w *watchdog) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// act ends expired machines and returns the time until it has to act again.
func (w *watchdog) act(ctx context.Context, now time.Time) time.Duration {
	next := min(w.limits.look, w.lookAtGPUs(ctx, now))
	for _, m := range w.machines {
		if m.ending.Load() {
			continue
		}
		if !m.hold() {
			next = min(next, holdAgain)
		}
		w.await(m)
		why := cmp.Or(m.hung(w.limits, now), m.exceeds())
		if end := m.end(w.limits); why == "" && !end.IsZero() {
			if left := end.Sub(now); left > 0 {
				next = min(next, left)
			} else {
				why = "its time was over"
			}
		}
		if why == "" {
			continue
		}
		m.ending.Store(true)
		p := m.processes()
		w.killing.Go(func() { m.kill(ctx, p, why, w.saving); w.wake() })
		next = min(next, time.Second)
	}
	return next
}
