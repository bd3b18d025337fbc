package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

const childPlan = "SEER_TEST_TRANSFER_PLAN"

// child is the other process of a test: it downloads the plan that it is given.
func child(t *testing.T) {
	var plan struct {
		Dir   string
		Files []File
	}
	if err := json.Unmarshal([]byte(os.Getenv(childPlan)), &plan); err != nil {
		t.Fatal(err)
	}
	if err := Download(context.Background(), plan.Files, Options{Dir: plan.Dir, block: block}); err != nil {
		t.Fatal(err)
	}
}

func childCommand(t *testing.T, dir string, files ...File) *exec.Cmd {
	t.Helper()
	plan, err := json.Marshal(map[string]any{"Dir": dir, "Files": files})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childPlan+"="+string(plan))
	return cmd
}

// TestKilled kills a process when it has received some bytes, again and again, and looks
// at what the last one makes of what the others have left.
func TestKilled(t *testing.T) {
	if os.Getenv(childPlan) != "" {
		child(t)
		return
	}
	files := map[string][]byte{"a": content("a", 100*block+3), "b": content("b", 1000), "c/d": content("d", 40*block)}
	o := newOrigin(t, files)
	size := int64(140*block + 1003)
	dir, kills := t.TempDir(), int64(0)
	for ; ; kills++ {
		until := o.sent.Load() + rand.Int64N(size/4)
		if kills == 12 {
			until = 1 << 60
		}
		reached := make(chan struct{}, 1000)
		o.mu.Lock()
		o.fault = func(http.ResponseWriter, *http.Request, int64) bool { return false }
		o.over = func(sent int64) {
			if sent > until {
				reached <- struct{}{}
			}
		}
		o.mu.Unlock()
		cmd := childCommand(t, dir, o.file("a"), o.file("b"), o.file("c/d"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-reached:
			_ = cmd.Process.Kill()
			<-ended
			continue
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		}
		break
	}
	wantFiles(t, dir, files)
	// Of what is not recorded, some was still on its way through the sockets.
	lost := (maxUnsynced + maxPerHost + 1) * int64(block)
	if sent := o.sent.Load(); sent > size+kills*2*lost {
		t.Errorf("%d bytes were sent for %d bytes and %d kills", sent, size, kills)
	}
	t.Logf("%d kills, %.2f times the bytes", kills, float64(o.sent.Load())/float64(size))
}

// TestOtherProcess has two processes share the work. Each request is for less than two blocks:
// a larger one would be divided when it is slow, and its server may have sent more by then.
func TestOtherProcess(t *testing.T) {
	if os.Getenv(childPlan) != "" {
		child(t)
		return
	}
	files, size := map[string][]byte{}, int64(0)
	for i := range 20 {
		name := fmt.Sprint("f", i)
		files[name] = content(name, 3*block)
		size += 3 * block
	}
	o := newOrigin(t, files)
	dir := t.TempDir()
	var plan []File
	for name := range files {
		plan = append(plan, o.file(name))
	}
	cmd := childCommand(t, dir, plan...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := get(t, dir, plan...)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, files)
	if o.sent.Load() != size {
		t.Errorf("%d bytes were sent, want %d", o.sent.Load(), size)
	}
}

// TestFullDisk has another process fill the disk.
func TestFullDisk(t *testing.T) { testkit.OnSmallDisk(t, 2<<20, fullDisk) }

func fullDisk(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 6*block)})
	filled := make(chan struct{})
	o.fault = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
		if n == 2 {
			defer close(filled)
			if err := os.WriteFile("/mnt/other", make([]byte, 1<<20), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Error(err)
			}
		}
		return false
	}
	var full *state.NoSpaceError
	if err := get(t, "/mnt", o.file("f")); !errors.As(err, &full) || full.Path != "/mnt/f.incomplete" {
		t.Fatalf("error = %v", err)
	}
	<-filled // a file that is still open would keep its space
	if err := os.Remove("/mnt/other"); err != nil {
		t.Fatal(err)
	}
	if err := get(t, "/mnt", o.file("f")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "/mnt", o.files)
}
