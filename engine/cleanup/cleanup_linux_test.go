package cleanup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/cleanup"
	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// bench is a cleaner and the folders that it cleans.
type bench struct {
	*cleanup.Cleaner
	t            *testing.T
	cache, state string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, cache: filepath.Join(t.TempDir(), "cache é"), state: t.TempDir()}
	store, err := state.Open(state.Options{StateDir: b.state, CacheDir: b.cache, RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := store.Dir("sandboxes")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := machine.OpenLedger(dir, machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	provider := enginetest.NewProvider("local", machine.SystemClock{}, enginetest.Script{})
	driver := machine.NewDriver(machine.Options{Ledger: ledger, Providers: func(context.Context, string) (sdk.Provider, error) { return provider, nil }})
	b.Cleaner = &cleanup.Cleaner{
		Store: store, Ledger: ledger, Driver: driver, Builder: &build.Builder{Store: store, Now: time.Now, Getenv: os.Getenv},
		Copies:         blinding.Copies{Store: store, Now: time.Now},
		Snapshots:      func() (*snapshot.Store, error) { return nil, snapshot.ErrNoFolder },
		CheckProviders: func(context.Context, ...string) error { return nil }, Now: time.Now, Logger: hclog.NewNullLogger(),
	}
	return b
}

// put writes a file below a folder, with all that leads to it.
func (b *bench) put(dir, name, text string) string {
	b.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// aged gives files a time that many days ago.
func (b *bench) aged(days int, paths ...string) {
	b.t.Helper()
	when := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	for _, path := range paths {
		if err := os.Chtimes(path, when, when); err != nil {
			b.t.Fatal(err)
		}
	}
}

// stale fills the cache with one of each kind that nobody has used for long, and one that was
// used. It returns the paths of both.
func (b *bench) stale() (old, used []string) {
	for i, age := range []int{90, 3} {
		id := strings.Repeat(fmt.Sprint(i), 80)
		layer, blinded := strings.Repeat(fmt.Sprint(i), 64), strings.Repeat(fmt.Sprint(i), 40)
		note := b.put(b.cache, "layers/"+layer+"/layer.json", `{"packages":["einops"],"bytes":1000}`)
		b.put(b.cache, "veiled/"+blinded+"/model.bin", "weights")
		system := b.put(b.cache, "systems/"+layer+".json", `{"snapshot":"local:sha256:`+id+`"}`)
		tar := b.put(b.state, "local/saved/"+id+".tar", "files")
		b.put(b.state, "local/saved/"+id+".json", "{}")
		root := b.put(b.cache, "images/roots/"+layer+"/root.json", `{"digest":"sha256:`+layer+`","bytes":5000}`)
		b.put(b.cache, "images/roots/"+layer+"/tree/bin/sh", "sh")
		b.aged(age, note, filepath.Join(b.cache, "veiled", blinded), system, root)
		paths := []string{filepath.Dir(note), filepath.Join(b.cache, "veiled", blinded), system, tar, filepath.Dir(root)}
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

// sandbox adds a sandbox to the ledger that is shown a layer, and returns its ID.
func (b *bench) sandbox(layer string) string {
	b.t.Helper()
	r := machine.NewRecord()
	r.Owner, r.Provider, r.Handle, r.State = b.Ledger.Owner(), "local", "h", sdk.Running
	r.Lease = machine.NewLease(machine.Detached, time.Hour, time.Now())
	err := session.SetState(&r, func(s *session.State) { s.Layer = layer })
	if err == nil {
		err = b.Ledger.Add(b.t.Context(), &r)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

func TestPrune(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inUse := filepath.Dir(b.put(b.cache, "layers/"+strings.Repeat("e", 64)+"/layer.json", `{"bytes":1000}`))
	b.aged(90, filepath.Join(inUse, "layer.json"))
	id := b.sandbox(filepath.Base(inUse))
	old, used := b.stale()

	would, err := b.Prune(t.Context(), cachegc.Options{DryRun: true})
	if err != nil || len(would) != 4 || len(missing(append(old, used...)...)) > 0 {
		t.Fatalf("dry run: %+v, %v, missing %v", would, err, missing(old...))
	}
	lock, held, err := state.TryAcquire(filepath.Join(b.cache, "layers", "locks", filepath.Base(old[0])))
	if err != nil || held {
		t.Fatal(held, err)
	}
	if done, err := b.Prune(t.Context(), cachegc.Options{}); err != nil || len(done) != 3 {
		t.Errorf("while somebody is at work on the layer: %+v, %v", done, err)
	}
	lock.Release()
	// Two at once remove it once.
	var all sync.WaitGroup
	var mu sync.Mutex
	removed := 0
	for range 2 {
		all.Go(func() {
			done, err := b.Prune(t.Context(), cachegc.Options{})
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
	b.checkLimit(used, inUse, id)
}

// checkLimit prunes to a size, and again after the end of the sandbox.
func (b *bench) checkLimit(used []string, inUse, sandbox string) {
	t := b.t
	t.Helper()
	fresh := b.put(b.cache, "layers/"+strings.Repeat("f", 64)+"/layer.json", `{"bytes":1000}`)
	if done, err := b.Prune(t.Context(), cachegc.Options{MaxBytes: 1}); err != nil || len(done) != 4 || len(missing(used...)) != len(used) {
		t.Errorf("above the size: %+v, %v", done, err)
	}
	if lost := missing(inUse, fresh); len(lost) > 0 {
		t.Errorf("lost, though in use or of this day: %v", lost)
	}
	if _, err := b.Ledger.Update(t.Context(), sandbox, func(r *machine.Record) error { r.State = sdk.Stopped; return nil }); err != nil {
		t.Fatal(err)
	}
	if done, err := b.Prune(t.Context(), cachegc.Options{}); err != nil || len(done) != 1 || len(missing(inUse)) != 1 || len(missing(fresh)) != 0 {
		t.Errorf("after its end: %+v, %v", done, err)
	}
}

// What a start has found stays while the start goes on, however long it takes.
func TestPruneKeepsWhatAStartHasFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	view := filepath.Dir(b.put(b.cache, "models/hub/org%2Fm/"+strings.Repeat("a", 40)+"/config.json", "{}"))
	end, err := b.Ledger.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.aged(0, view) // the start has found it
	later := time.Now().Add(5 * time.Hour)
	b.Now = func() time.Time { return later }
	if done, err := b.Prune(t.Context(), cachegc.Options{Unused: time.Hour}); err != nil || len(done) != 0 || len(missing(view)) != 0 {
		t.Errorf("while the start goes on: %+v, %v", done, err)
	}
	end()
	if done, err := b.Prune(t.Context(), cachegc.Options{Unused: time.Hour}); err != nil || len(done) != 1 || len(missing(view)) != 1 {
		t.Errorf("after its end: %+v, %v", done, err)
	}
}

// A layer stays as long as one that stands upon it.
func TestPruneKeepsWhatIsBelow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := func(c string) string { return strings.Repeat(c, 64) }
	below := b.put(b.cache, "layers/"+key("a")+"/layer.json", `{"bytes":1}`)
	upper := b.put(b.cache, "layers/"+key("b")+"/layer.json", `{"bytes":1,"below":"`+key("a")+`"}`)
	b.aged(60, below)
	b.aged(2, upper)
	if done, err := b.Prune(t.Context(), cachegc.Options{}); err != nil || len(done) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := b.Prune(t.Context(), cachegc.Options{Unused: 24 * time.Hour}); err != nil || len(done) != 2 || len(missing(below, upper)) != 2 {
		t.Errorf("both: %+v, %v", done, err)
	}
}

// What a killed program left of a removal, of a blinded copy or of the run of a sandbox that
// has ended goes with the next sweep.
func TestGCOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := b.put(b.cache, "veiled/"+strings.Repeat("c", 40)+".partial/model.bin", "half")
	relay, err := b.Store.RunDirs().Relay("sb-ended")
	if err != nil {
		t.Fatal(err)
	}
	report, err := b.GC(t.Context())
	if err != nil || len(report.Cleaned) != 1 || len(missing(file, relay)) != 2 {
		t.Errorf("%+v, %v, left of %s and %s", report, err, file, relay)
	}
}

// A sandbox whose record this version cannot read may live: its relay stays, and the report names
// the record.
func TestGCKeepsTheRelayOfAnUnreadableRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const id = "sb-newerseer1"
	record := b.put(b.state, "sandboxes/"+id+".json", `{"version":99,"id":"`+id+`","key":"k","state":"running"}`)
	relay, err := b.Store.RunDirs().Relay(id)
	if err != nil {
		t.Fatal(err)
	}
	report, err := b.GC(t.Context())
	if err != nil || len(missing(relay)) > 0 {
		t.Errorf("%v, lost %v", err, missing(relay))
	}
	if len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Why, record) {
		t.Errorf("the report does not name %s: %+v", record, report)
	}
}

// Where it is not known what snapshots need, nothing is removed.
func TestNothingIsPrunedWithoutTheSnapshots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, used := b.stale()
	b.Snapshots = func() (*snapshot.Store, error) { return nil, os.ErrPermission }
	if done, err := b.Prune(t.Context(), cachegc.Options{}); err == nil || len(done) != 0 || len(missing(append(old, used...)...)) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
