package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testsource"
)

// put writes a file below a folder, with all that leads to it.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	return testkit.WriteFile(t, filepath.Join(dir, name), text)
}

// aged gives files a time that many days ago.
func aged(t *testing.T, days int, paths ...string) {
	t.Helper()
	when := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	for _, path := range paths {
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
}

// stale fills a cache with one of each kind that nobody has used for long, and one that was
// used. It returns the paths of both.
func stale(t *testing.T, cache, state string) (old, used []string) {
	for i, age := range []int{90, 3} {
		id := strings.Repeat(fmt.Sprint(i), 80)
		layer, blinded := strings.Repeat(fmt.Sprint(i), 64), strings.Repeat(fmt.Sprint(i), 40)
		note := put(t, cache, "layers/"+layer+"/layer.json", `{"packages":["einops"],"bytes":1000}`)
		put(t, cache, "veiled/"+blinded+"/model.bin", "weights")
		system := put(t, cache, "systems/"+layer+".json", `{"snapshot":"local:sha256:`+id+`"}`)
		tar := put(t, state, "local/saved/"+id+".tar", "files")
		put(t, state, "local/saved/"+id+".json", "{}")
		root := put(t, cache, "images/roots/"+layer+"/root.json", `{"digest":"sha256:`+layer+`","bytes":5000}`)
		put(t, cache, "images/roots/"+layer+"/tree/bin/sh", "sh")
		aged(t, age, note, filepath.Join(cache, "veiled", blinded), system, root)
		paths := []string{filepath.Dir(note), filepath.Join(cache, "veiled", blinded), system, tar, filepath.Dir(root)}
		if age > 30 {
			old = paths
		} else {
			used = paths
		}
	}
	return old, used
}

func missing(paths ...string) (names []string) {
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			names = append(names, path)
		}
	}
	return names
}

func TestPrune(t *testing.T) {
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	s := b.up("sandbox: {python_packages: [alpha]}\n")
	inUse := b.layers()[0]
	aged(t, 90, filepath.Join(inUse, "layer.json"))
	old, used := stale(t, b.cache, b.state)

	would, err := b.Prune(t.Context(), engine.PruneOptions{DryRun: true})
	if err != nil || len(would) != 4 || len(missing(append(old, used...)...)) > 0 {
		t.Fatalf("dry run: %+v, %v, missing %v", would, err, missing(old...))
	}
	lock, held, err := state.TryAcquire(filepath.Join(b.cache, "layers", "locks", filepath.Base(old[0])))
	if err != nil || held {
		t.Fatal(held, err)
	}
	if done, err := b.Prune(t.Context(), engine.PruneOptions{}); err != nil || len(done) != 3 {
		t.Errorf("while somebody is at work on the layer: %+v, %v", done, err)
	}
	lock.Release()
	// Two at once remove it once.
	var all sync.WaitGroup
	var mu sync.Mutex
	removed := 0
	for range 2 {
		all.Go(func() {
			done, err := b.Prune(t.Context(), engine.PruneOptions{})
			mu.Lock()
			defer mu.Unlock()
			if removed += len(done); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if removed != 1 || len(missing(old...)) != len(old) {
		t.Errorf("removed %d, missing %v of %v", removed, missing(old...), old)
	}
	if lost := missing(append(used, inUse)...); len(lost) > 0 {
		t.Errorf("lost, though in use: %v", lost)
	}
	fresh := put(t, b.cache, "layers/"+strings.Repeat("f", 64)+"/layer.json", `{"bytes":1000}`)
	if done, err := b.Prune(t.Context(), engine.PruneOptions{MaxBytes: 1}); err != nil || len(done) != 4 || len(missing(used...)) != len(used) {
		t.Errorf("above the size: %+v, %v", done, err)
	}
	if lost := missing(inUse, fresh); len(lost) > 0 {
		t.Errorf("lost, though in use or of this day: %v", lost)
	}
	if err := s.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := b.Prune(t.Context(), engine.PruneOptions{}); err != nil || len(done) != 1 || len(missing(inUse)) != 1 || len(missing(fresh)) != 0 {
		t.Errorf("after its end: %+v, %v", done, err)
	}
}

// A layer stays as long as one that stands upon it.
func TestPruneKeepsWhatIsBelow(t *testing.T) {
	b := newBench(t, nil)
	key := func(c string) string { return strings.Repeat(c, 64) }
	below := put(t, b.cache, "layers/"+key("a")+"/layer.json", `{"bytes":1}`)
	upper := put(t, b.cache, "layers/"+key("b")+"/layer.json", `{"bytes":1,"below":"`+key("a")+`"}`)
	aged(t, 60, below)
	aged(t, 2, upper)
	if done, err := b.Prune(t.Context(), engine.PruneOptions{}); err != nil || len(done) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := b.Prune(t.Context(), engine.PruneOptions{Unused: 24 * time.Hour}); err != nil || len(done) != 2 || len(missing(below, upper)) != 2 {
		t.Errorf("both: %+v, %v", done, err)
	}
}

// What a killed program left of a removal or of a blinded copy goes with the next sweep.
func TestGCOfPartials(t *testing.T) {
	b := newBench(t, nil)
	file := put(t, b.cache, "veiled/"+strings.Repeat("c", 40)+".partial/model.bin", "half")
	report, err := b.GC(t.Context())
	if err != nil || len(report.Cleaned) != 1 || len(missing(file)) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
