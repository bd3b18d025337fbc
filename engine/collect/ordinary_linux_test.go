package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation/filebits"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestAttacksOnOrdinaryUser has rows that need a user whom modes of files concern.
func TestAttacksOnOrdinaryUser(t *testing.T) {
	if os.Geteuid() == 0 {
		asOrdinaryUser(t)
		return
	}
	attack.Run(t, []attack.Row{
		{Name: "workspace-git-in-unreadable-folder", Want: "programs would obey", Try: func(t *testing.T, defended bool) error {
			dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			hidden := filepath.Join(dir, "in", "hidden")
			err := settled(t, defended, dir, func() {
				must(t, os.MkdirAll(hidden, 0o755))
				trap(t, hidden, ran, false)
				must(t, errors.Join(os.Chmod(hidden, 0o300), os.Chmod(filepath.Dir(hidden), 0o100), os.Chmod(dir, 0o300)))
			})
			return status(t, hidden, ran, err)
		}},
		{Name: "workspace-users-git-is-unreadable", Want: "restored as before", Try: func(t *testing.T, defended bool) error {
			dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			run(t, dir, "git", "init", "-q", ".")
			err := settled(t, defended, dir, func() {
				trap(t, dir, ran, false)
				must(t, os.Chmod(filepath.Join(dir, ".git"), 0o300))
			})
			return status(t, dir, ran, err)
		}},
	})
}

// TestWorkspaceWithUnreadableFolder: what nobody can compare afterwards is told before.
func TestWorkspaceWithUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		asOrdinaryUser(t)
		return
	}
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "closed"), 0o300))
	if _, err := Watch(t.Context(), testkit.OpenRoot(t, dir), "outputs", t.Logf); err == nil || !strings.Contains(err.Error(), `"closed"`) {
		t.Errorf("%v", err)
	}
}

// settled lets an agent work in a folder, and settles it. Without the defence, folders that
// cannot be read are passed over.
func settled(t *testing.T, defended bool, dir string, agent func()) error {
	t.Helper()
	var warned []string
	g := &Guard{root: testkit.OpenRoot(t, dir), closed: !defended, warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }}
	must(t, g.watch(t.Context(), "outputs"))
	t.Cleanup(func() { _, _ = filebits.Unlock(dir) }) // so that it can be removed
	agent()
	must(t, g.Settle(t.Context()))
	return errors.New(strings.Join(warned, "; "))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asOrdinaryUser runs the test again without the rights of root.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	if out := (ordinaryuser.Again{Args: []string{"-test.run=^" + t.Name() + "$"}}).Run(t); !strings.Contains(out, "PASS") {
		t.Errorf("the test did not run:\n%s", out)
	}
}
