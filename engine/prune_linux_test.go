package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/internal/testsource"
)

// The layer of a sandbox is pruned only after the sandbox has ended.
func TestPruneKeepsTheLayerOfASandbox(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	s := b.up("sandbox: {python_packages: [alpha]}\n")
	layer := filepath.Join(b.layers()[0], "layer.json")
	long := time.Now().Add(-90 * 24 * time.Hour)
	if err := os.Chtimes(layer, long, long); err != nil {
		t.Fatal(err)
	}
	if done, err := b.Prune(t.Context(), engine.PruneOptions{}); err != nil || len(done) != 0 {
		t.Errorf("while it runs: %+v, %v", done, err)
	}
	if err := s.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := b.Prune(t.Context(), engine.PruneOptions{}); err != nil || len(done) != 1 {
		t.Errorf("after its end: %+v, %v", done, err)
	}
	if _, err := os.Lstat(layer); !os.IsNotExist(err) {
		t.Errorf("the layer: %v", err)
	}
}
