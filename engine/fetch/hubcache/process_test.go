package hubcache

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/state"
)

const childPlan = "SEER_TEST_HUBCACHE"

type plan struct {
	Cache Cache
	URL   string
}

// child is the other process of a test: it stores the model.
func child(t *testing.T) bool {
	t.Helper()
	text := os.Getenv(childPlan)
	if text == "" {
		return false
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, url: p.URL, files: contents}
	h.store(p.Cache, h.request())
	return true
}

func (h *hub) child(c Cache) *exec.Cmd {
	h.t.Helper()
	text, err := json.Marshal(plan{c, h.url})
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+h.t.Name()+"$")
	cmd.Env = append(os.Environ(), childPlan+"="+string(text))
	return cmd
}

// Programs with caches of their own share one of the Hub.
func TestTwoProcesses(t *testing.T) {
	if child(t) {
		return
	}
	h, c := newHub(t), newCache(t)
	var together sync.WaitGroup
	for _, own := range []string{"one", "two", "three"} {
		cache := Cache{Dir: c.Dir, Own: filepath.Join(c.Own, own)}
		together.Go(func() {
			if out, err := h.child(cache).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	together.Wait()
	if h.requests.Load() != 3 {
		t.Errorf("%d requests for 3 contents", h.requests.Load())
	}
}

// A process that is killed leaves what the next one continues, and nothing that a client of
// the Hub takes for a blob.
func TestKilled(t *testing.T) {
	if child(t) {
		return
	}
	h, c := newHub(t), newCache(t)
	arrived, hold := make(chan struct{}), make(chan struct{})
	h.setBefore(func(path string) {
		if path != "model.safetensors" {
			return
		}
		select {
		case arrived <- struct{}{}:
			<-hold
		case <-hold:
		}
	})
	cmd := h.child(c)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-arrived
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	close(hold)
	weights := fileOf("model.safetensors", contents["model.safetensors"]).SHA256
	repo := filepath.Join(c.Dir, "models--org--tiny")
	for _, name := range []string{weights, weights + ".incomplete"} {
		if _, err := os.Lstat(filepath.Join(repo, "blobs", name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	all, err := c.List(t.Context())
	if err != nil || len(all) != 1 || len(all[0].Incomplete) == 0 || len(all[0].Revisions) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	h.store(c, h.request())
}

// A client of the Hub is downloading a file. Its blob is used when it lets go of the lock.
func TestOtherClientAtWork(t *testing.T) {
	h, c := newHub(t), newCache(t)
	weights := fileOf("model.safetensors", contents["model.safetensors"]).SHA256
	locks := filepath.Join(c.Dir, ".locks", "models--org--tiny")
	write(t, filepath.Join(locks, weights+".lock"), nil)
	lock, err := state.Acquire(t.Context(), filepath.Join(locks, weights+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	h.setBefore(func(string) { // Seer is at work on other files by then
		once.Do(func() {
			write(t, filepath.Join(c.Dir, "models--org--tiny", "blobs", weights), contents["model.safetensors"])
			lock.Release()
		})
	})
	h.store(c, h.request())
	if h.requests.Load() != 2 {
		t.Errorf("%d requests, want 2: the other client has brought the third file", h.requests.Load())
	}
}
