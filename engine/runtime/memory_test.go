package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
)

func testMemory(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func stateOf(size int) savedState {
	return savedState{Config: protocol.Config{Env: map[string]string{"A": strings.Repeat("x", size)}}}
}

func TestMemory(t *testing.T) {
	f := testMemory(t)
	m := memory{f: f}
	if _, ok, err := m.load(); ok || err != nil {
		t.Errorf("an empty memory: %v %v", ok, err)
	}
	for _, size := range []int{10, 10, 5000, 20, 100000, 1, 1, 70000, 3} {
		if err := m.save(stateOf(size)); err != nil {
			t.Fatal(err)
		}
		got, ok, err := (&memory{f: f}).load()
		if !ok || err != nil || len(got.Config.Env["A"]) != size {
			t.Fatalf("size %d: %v %v %d", size, ok, err, len(got.Config.Env["A"]))
		}
	}
	if info, _ := f.Stat(); info.Size() > 300000 {
		t.Errorf("the memory grows without need: %d bytes", info.Size())
	}
}

// A state of which only a part was written is as if it had never been begun.
func TestMemoryTornWrite(t *testing.T) {
	f := testMemory(t)
	m := memory{f: f}
	for _, size := range []int{100, 200} {
		if err := m.save(stateOf(size)); err != nil {
			t.Fatal(err)
		}
	}
	head := make([]byte, memoryHead)
	if _, err := f.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.save(stateOf(50)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(head, 0); err != nil { // killed before the head was written
		t.Fatal(err)
	}
	if got, ok, err := (&memory{f: f}).load(); !ok || err != nil || len(got.Config.Env["A"]) != 200 {
		t.Errorf("%v %v %d", ok, err, len(got.Config.Env["A"]))
	}
}

func TestMemoryDamage(t *testing.T) {
	f := testMemory(t)
	m := memory{f: f}
	if err := m.save(stateOf(100)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("?"), m.at+20); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (&memory{f: f}).load(); err == nil {
		t.Error("a damaged state was taken for a good one")
	}
}

// The journals of a killed runtime outlive one that cannot start after it.
func TestFailedStartKeepsFolder(t *testing.T) {
	o := Options{AdminSHA256: strings.Repeat("a", 64), Scratch: t.TempDir(), Memory: testMemory(t)}
	killed, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer killed.close()
	o.Forward = &portforward.Config{Dir: filepath.Join(o.Scratch, "none"), Ports: []int{8888}}
	if _, err := New(o); err == nil {
		t.Fatal("it listens in a folder that is not there")
	}
	if _, err := os.Stat(killed.scratch); err != nil {
		t.Error(err)
	}
	o.Memory = nil
	if _, err := New(o); err == nil {
		t.Fatal("it listens in a folder that is not there")
	}
	if left, err := os.ReadDir(o.Scratch); err != nil || len(left) != 1 {
		t.Errorf("a runtime that could not start has left its own folder: %v, %v", left, err)
	}
}

// A machine was used after its state was last saved: it does not end as idle after a crash.
func TestCrashIsNotIdle(t *testing.T) {
	o := Options{AdminSHA256: strings.Repeat("a", 64), Scratch: t.TempDir(), Memory: testMemory(t)}
	now := time.Now()
	saved := savedState{LeaseKind: protocol.LeaseDetached, LeaseEnd: now.Add(5 * time.Hour), LeaseIdle: 30 * time.Minute, LastUse: now.Add(-time.Hour)}
	if err := (&memory{f: o.Memory}).save(saved); err != nil {
		t.Fatal(err)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if why := s.lease.Ended(time.Now(), s.busy()); why != "" {
		t.Errorf("the machine ends: %s", why)
	}
}
