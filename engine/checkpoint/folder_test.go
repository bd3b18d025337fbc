package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

// A folder for saved memory stays while its owner lives, from its beginning: another program
// sweeps just before it is locked. What killed programs have left is removed.
func TestSweepLeavesFoldersInUse(t *testing.T) {
	t.Parallel()
	store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	base, err := store.Dir(local.Name, folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(base, "m1"), 0o700), os.WriteFile(filepath.Join(base, "m1.lock"), nil, 0o600),
		os.Mkdir(filepath.Join(base, "m2"), 0o700), os.WriteFile(filepath.Join(base, "m3.lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	sweeps := 0
	sweep := func() {
		sweeps++
		if err := Sweep(store); err != nil {
			t.Error(err)
		}
	}
	dir, done, err := Checkpointer{Store: store}.workFolder(testkit.AskedContext{Context: t.Context(), Asked: sweep})
	if err != nil {
		t.Fatal(err)
	}
	if sweeps == 0 {
		t.Error("nothing was swept before the lock")
	}
	sweep()
	if err := os.WriteFile(filepath.Join(dir, "pages.img"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(base); err != nil || len(all) != 2 { // the folder and its lock
		t.Errorf("%v, %v", all, err)
	}
	done()
	if all, err := os.ReadDir(base); err != nil || len(all) != 0 {
		t.Errorf("it leaves %v, %v", all, err)
	}
}
