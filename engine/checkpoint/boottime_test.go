package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/provision"
)

// The machine of a large memory waits until all of it has been read.
func TestBootTimeGrowsWithTheMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{local.MemoryImages, local.MemoryTrees} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(dir, local.MemoryImages, "pages.img")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := bootTime(dir); err != nil || got != provision.BootTimeout {
		t.Errorf("of nothing: %s, %v", got, err)
	}
	if err := os.Truncate(at, 100*verifyRate); err != nil { // with holes
		t.Fatal(err)
	}
	if got, err := bootTime(dir); err != nil || got != provision.BootTimeout+100*time.Second {
		t.Errorf("of 5 GB: %s, %v", got, err)
	}
}
