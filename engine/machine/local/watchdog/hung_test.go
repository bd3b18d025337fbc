package watchdog

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestHungAfterSaves has machines that were saved or copied give no answer. They are left
// alone only as long as they are not at their socket.
func TestHungAfterSaves(t *testing.T) {
	t.Parallel()
	standIn := func(t *testing.T, _ *machine, socket string) {
		if err := os.Rename(socket, socket+Before); err != nil {
			t.Fatal(err)
		}
		listen(t, socket)
	}
	for name, c := range map[string]struct {
		parked string
		do     func(t *testing.T, m *machine, socket string)
		hung   bool
	}{
		"never":          {hung: true},
		"copy":           {parked: `{"id":"00","key":"00","copy":true}`, hung: true},
		"saver killed":   {parked: `{"id":"00","key":"00"}`, do: standIn},
		"found after it": {parked: `{"id":"00","key":"00"}`, hung: true},
		"saver killed at its link": {parked: `{"id":"00","key":"00"}`, hung: true, do: func(t *testing.T, _ *machine, socket string) {
			if err := os.Link(socket, socket+Before); err != nil {
				t.Fatal(err)
			}
		}},
		"being saved": {parked: `{"id":"00","key":"00"}`, do: func(t *testing.T, m *machine, _ string) {
			lock, err := state.Acquire(t.Context(), m.lock)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(lock.Release)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := testkit.ShortDir(t)
			socket := filepath.Join(root, "socket", "s")
			if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
				t.Fatal(err)
			}
			listen(t, socket)
			m := &machine{root: root, lock: filepath.Join(root, "lock"), note: note{Parked: []byte(c.parked), Outer: proc.Process{PID: 1}}}
			m.silent.Store(5)
			if c.do != nil {
				c.do(t, m, socket)
			}
			if why := m.hung(limits{look: time.Minute, silent: 5}, time.Now()); (why != "") != c.hung {
				t.Errorf("got %q", why)
			}
		})
	}
}

// listen listens, and never answers.
func listen(t *testing.T, socket string) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}
