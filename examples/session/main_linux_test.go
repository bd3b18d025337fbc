package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// The program as a reader of docs/embedding.md runs it, with real Jupyter.
func TestSession(t *testing.T) {
	said := session(t, "bubblewrap")
	if !strings.Contains(said, "\nno forks: ") {
		t.Errorf("forks without gVisor:\n%s", said)
	}
}

// TestGVisorSession needs runsc; e2e/gvisor.sh runs it.
func TestGVisorSession(t *testing.T) {
	said := session(t, "gvisor")
	for _, want := range []string{"\nfork 0 43\n", "\nfork 1 44\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q:\n%s", want, said)
		}
	}
}

// session runs the program in a home of its own, and checks what every isolation has.
func session(t *testing.T, isolation string) string {
	t.Helper()
	built, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top, err := testbuild.Top()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "session")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	home := t.TempDir()
	if isolation == "gvisor" {
		runsc(t, top, home)
	}
	cmd := exec.Command(program, "-bin", filepath.Dir(built.Runtime), "-isolation", isolation)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + testkit.ShortDir(t), "SEER_PYTHON=" + testbuild.Jupyter(t),
		"XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_DATA_HOME=" + filepath.Join(home, "data"),
	}
	var progress strings.Builder
	cmd.Stderr = &progress
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, progress.String())
	}
	lines := strings.Split(string(out), "\n")
	for _, want := range []string{
		"42", "exit code: 3", "24 80", "/workspace/data/a.txt file 4", "watched: /workspace/data/b.txt", "jupyter: 200 OK", "43",
		"from the snapshot: 43", "found again: 43", "session: notebook", "44",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.TrimSpace(line) == want }) {
			t.Errorf("there is no %q:\n%s", want, out)
		}
	}
	return string(out)
}

// runsc puts gVisor where doctor --fix does.
func runsc(t *testing.T, top, home string) {
	t.Helper()
	tools := filepath.Join(home, "data/seer/tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "bin/runsc"), filepath.Join(tools, "runsc")); err != nil {
		t.Fatal(err)
	}
}
