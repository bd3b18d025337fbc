package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testbuild"
)

// The program as a reader of the documentation runs it. It is built without the race
// detector, under which plugins take a minute to compile.
func TestEmbed(t *testing.T) {
	built, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "embed")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program, "-runtime", built.Runtime, "-plugins", built.Plugins, "-interface", "interface.py").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, want := range []string{"count: 3", "shout: PermissionError: the token may call count, not shout", `"s" "e" "e" "r"`, `later: "LATER"`, "skill: 9 files, first .claude/skills/tools/SKILL.md", "elsewhere: plugin expose-skill"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d is not %q:\n%s", i+1, want, out)
		}
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "was not granted") {
		t.Errorf("the mode got more than its grant: %s", last)
	}
}
