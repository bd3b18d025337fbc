package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// usage is what a process holds on to.
type usage struct {
	goroutines, modules, instances, files int
	heap                                  uint64
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d modules, %d instances, %d open files, %d KiB of heap", u.goroutines, u.modules, u.instances, u.files, u.heap>>10)
}

func measure(h *host.Host) usage {
	var u usage
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.goroutines, u.heap = runtime.NumGoroutine(), m.HeapAlloc
	u.modules, u.instances = h.Loaded()
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	}
	return u
}

// settle waits until what has ended is gone: at most what there was before.
func settle(h *host.Host, before usage) usage {
	var u usage
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if u = measure(h); u.goroutines <= before.goroutines && u.files <= before.files {
			break
		}
	}
	return u
}

// TestNothingGrows calls a plugin very often, side by side; some calls panic, exit or
// come to their limits. SEER_SOAK makes it 100,000 calls.
func TestNothingGrows(t *testing.T) {
	calls := 1500
	if os.Getenv("SEER_SOAK") != "" {
		calls = 100_000
	}
	const wide = 64
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}, Limits: host.Limits{Instances: 4, CallTime: 5 * time.Minute}})
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	many(t, e, wide, wide) // the pool is full, and all that is made once is made
	before := measure(h)
	began := time.Now()
	many(t, e, calls, wide)
	took := time.Since(began)
	after := settle(h, before)
	t.Logf("%d calls, %v each; before: %v; after: %v", calls, took/time.Duration(calls), before, after)
	if after.goroutines > before.goroutines || after.files > before.files || after.modules != 1 || after.instances > 4 || after.heap > before.heap+48<<20 {
		t.Errorf("before: %v\nafter %d calls: %v", before, calls, after)
	}
}

// many makes n calls, so many side by side, and checks each answer.
func many(t *testing.T, e sdk.Exposer, n, wide int) {
	t.Helper()
	work := make(chan int)
	var done sync.WaitGroup
	for range wide {
		done.Go(func() {
			for i := range work {
				if err := one(e, i); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	done.Wait()
}

func one(e sdk.Exposer, i int) error {
	ask := func(ctx context.Context, option string) (sdk.Surface, error) {
		return e.Expose(ctx, sdk.ExposeRequest{Name: "tools", Options: json.RawMessage(option)})
	}
	wrong := map[int]string{17: `"panic"`, 37: `"exit"`, 57: `a bad surface`, 77: `"no json"`}[i%100]
	switch {
	case i%500 == 499:
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if _, err := ask(ctx, `"endless"`); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("an endless loop: %w", err)
		}
	case wrong == `a bad surface`:
		if _, err := ask(context.Background(), `{"files":[{"path":"/etc/passwd"}]}`); err == nil {
			return errors.New("a bad surface was accepted")
		}
	case wrong != "":
		if _, err := ask(context.Background(), wrong); err == nil {
			return fmt.Errorf("%s was accepted", wrong)
		}
	default:
		want := fmt.Sprintf("call %d", i)
		if s, err := ask(context.Background(), fmt.Sprintf("%q", want)); err != nil || s.Prompt != want {
			return fmt.Errorf("%+v, %w", s, err)
		}
	}
	return nil
}

// Grants that change make modules; only a few are kept.
func TestChangingGrantsDoNotGrow(t *testing.T) {
	b := &book{}
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}, Access: b.access})
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"folders", "command node", "env NODE_PATH"}
	for i := range 1 << len(lines) {
		var set []string
		for n, line := range lines {
			if i>>n&1 == 1 {
				set = append(set, line)
			}
		}
		b.set(access.Make(set...), nil)
		if s, err := e.Expose(context.Background(), sdk.ExposeRequest{Name: "tools", Options: json.RawMessage(`"x"`)}); err != nil || s.Prompt != "x" {
			t.Fatalf("with %q: %+v, %v", set, s, err)
		}
	}
	if modules, instances := h.Loaded(); modules > 3 || instances > 3 {
		t.Errorf("%d modules and %d instances are kept", modules, instances)
	}
}
