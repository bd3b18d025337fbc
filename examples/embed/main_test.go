package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testbuild"
)

func TestEmbed(t *testing.T) {
	built, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "embed-") // short, for sockets are below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var out bytes.Buffer
	if err := run(t.Context(), &out, dir, built.Runtime, built.Plugins, "interface.py"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{"count: 3", "shout: PermissionError: the token may call count, not shout", "skill: 9 files, first .claude/skills/tools/SKILL.md", "elsewhere: plugin expose-skill"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d is not %q:\n%s", i+1, want, out.String())
		}
	}
	if !strings.Contains(lines[3], "was not granted") {
		t.Errorf("the mode got more than its grant: %s", lines[3])
	}
}
