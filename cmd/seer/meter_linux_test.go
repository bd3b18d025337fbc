package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
)

// At a terminal copying a folder says first that it counts; exporting, importing and gc say
// what they do; how far that is comes with the next tick. One line of it stays, and nothing of it in a pipe.
func TestCopyingOnATerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.run("up", "exp.yaml", "--name", "lab", "-q")
	const files = 250
	for i := range files {
		file := filepath.Join(p.dir, "many é", fmt.Sprint(i%5), fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.write("big", strings.Repeat("0123456789abcdef", 6<<20/16))
	for _, c := range []struct {
		args  []string
		shows string // while it goes on
		stays string
	}{
		{[]string{"cp", "-r", "many é", "lab:"}, `cp: counting the files in many é`, `^(✓ .*)?$`},
		{[]string{"cp", "big", "lab:"}, `cp: big → lab:`, `^✓ big → lab:: 6\.3 MB in \d+\.\d s`},
		{[]string{"snapshot", "lab", "first"}, `snapshot: `, `(?m)^first$`},
		{[]string{"snapshots", "verify", "first"}, `snapshot: verifying first`, `^whole: first$`},
		{[]string{"gc", "--dry-run"}, `gc: looking for expired sandboxes`, `Nothing would go`},
	} {
		raw := p.onTerminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, c.args...)
		if !regexp.MustCompile(c.shows).MatchString(raw) {
			t.Errorf("%v never shows %s: %q", c.args, c.shows, raw)
		}
		left := strings.Join(termtest.Visible(raw), "\n")
		if !regexp.MustCompile(c.stays).MatchString(left) || strings.ContainsAny(left, termtest.Frames) {
			t.Errorf("%v leaves %q, not %s", c.args, left, c.stays)
		}
	}
	p.exportsOnATerminal()
}

// exportsOnATerminal has a snapshot that is large enough to be shown: of bytes that do not
// become fewer.
func (p *program) exportsOnATerminal() {
	p.t.Helper()
	p.run("exec", "lab", "--", "sh", "-c", "head -c 9000000 /dev/urandom > noise")
	p.run("snapshot", "lab", "second", "-q")
	for _, c := range []struct{ args, shows, stays string }{
		{"snapshots export second out.tar", `snapshot: exporting second`, `^✓ exporting second: \d+\.\d MB in \d+\.\d s`},
		{"snapshots import out.tar --name third", `snapshot: importing out\.tar`, `^✓ importing out\.tar: \d+\.\d MB in \d+\.\d s`},
	} {
		args := strings.Fields(c.args)
		raw := p.onTerminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, args...)
		left := strings.Join(termtest.Visible(raw), "\n")
		if !regexp.MustCompile(c.shows).MatchString(raw) || !regexp.MustCompile(c.stays).MatchString(left) || strings.ContainsAny(left, termtest.Frames) {
			p.t.Errorf("%s shows %q and leaves %q", c.args, raw, left)
		}
	}
	quiet := p.onTerminal(100, []string{"TERM=xterm"}, "snapshots", "import", "out.tar", "--name", "fourth", "-q")
	if left := strings.TrimSpace(quiet); left != "fourth" {
		p.t.Errorf("with -q: %q", quiet)
	}
}
