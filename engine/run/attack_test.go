package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
)

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "run-surface-replaces-users-file", Want: "is kept as", Try: func(t *testing.T, defended bool) error {
			dir := t.TempDir()
			w, warnings := openTest(t, dir)
			w.overwrite = !defended
			put(t, "mine", dir, "tools.py")
			if err := w.clear("tools.py"); err != nil {
				t.Fatal(err)
			}
			kept, _ := filepath.Glob(filepath.Join(dir, "tools.py.kept-*"))
			if len(kept) != 1 {
				return nil // the user's file is lost
			}
			return errors.New(strings.Join(*warnings, "; "))
		}},
	})
}

// TestAgentClaimsNoFile: what an agent writes of the run's notes counts for nothing.
func TestAgentClaimsNoFile(t *testing.T) {
	dir := t.TempDir()
	mine := put(t, "mine", dir, "train.py")
	put(t, `{"train.py": "`+hash([]byte("mine"))+`"}`, dir, ".seer-workspace.json")
	w, warnings := openTest(t, dir)
	if err := w.write("train.py", []byte("other"), 0o644); err != nil || len(*warnings) != 1 {
		t.Errorf("%v, %v", err, *warnings)
	}
	if kept, _ := filepath.Glob(mine + ".kept-*"); len(kept) != 1 {
		t.Error("the user's file is lost")
	}
}

// TestCleanupWaitsForNoPipe: an agent puts pipes and links in the place of Seer's files.
func TestCleanupWaitsForNoPipe(t *testing.T) {
	dir := t.TempDir()
	w, _ := openTest(t, dir)
	for _, name := range []string{"pipe", "link"} {
		if err := w.write(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	w.remove([]string{filepath.Join(dir, "pipe"), filepath.Join(dir, "link")})
	if err := w.adopt([]string{filepath.Join(dir, "pipe")}); err == nil {
		t.Error("a pipe is noted as Seer's file")
	}
	if err := w.clear("pipe"); err != nil {
		t.Error(err)
	}
}
