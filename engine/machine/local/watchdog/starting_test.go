package watchdog

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// noted writes the note of a machine that has no process yet.
func noted(t *testing.T, dir string, created time.Time) (handle string) {
	t.Helper()
	handle = "maaaaaaaaaaaa"
	if err := os.MkdirAll(filepath.Join(dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"key": dir, "isolation": "none", "created_at": created})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, handle+".json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return handle
}

// TestSlowStart checks that the watchdog keeps a machine as long as a program starts it, and
// forgets the machine when that program has ended.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	w := newWatchdog(t.TempDir(), usual)
	handle := noted(t, w.dir, time.Now().Add(-starting))
	lock, err := state.Acquire(t.Context(), filepath.Join(w.dir, "locks", handle))
	if err != nil {
		t.Fatal(err)
	}
	w.look()
	if len(w.machines) != 1 {
		t.Error("it is forgotten")
	}
	lock.Release()
	w.look()
	if len(w.machines) != 0 {
		t.Error("it is not forgotten")
	}
}

// TestPassingProbe has somebody else look at the lock while a watchdog starts, which is no other
// watchdog.
func TestPassingProbe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		noted(t, dir, time.Now())
		probe, err := state.Acquire(t.Context(), Lock(dir))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ready, says := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- newWatchdog(dir, usual).run(ctx, says) }()
		synctest.Wait()
		probe.Release()
		if _, err := ready.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		lock, held, err := state.TryAcquire(Lock(dir))
		if err == nil && !held {
			lock.Release()
		}
		if err != nil || !held {
			t.Errorf("no watchdog has the lock: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
