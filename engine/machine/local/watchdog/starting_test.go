package watchdog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
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

// TestSlowStart knows a machine that is still being started, however long that takes, and
// forgets it when whoever started it is gone.
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
