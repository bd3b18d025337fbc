package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
)

// noise is what an installer may print, and what it does then.
const noise = `i=0
while [ $i -lt 40 ]; do i=$((i + 1)); echo "noise $i of many"; done
printf '\033[32mgreen\033[0m \033]0;title\007漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 to the very end\n'
printf 'of 10\r of 90\rheld up\n'
until [ -e /seer/build/repos/%s/go ]; do sleep 0.05; done
printf 'narrow 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\nheld up again\n'
until [ -e /seer/build/repos/%[1]s/on ]; do sleep 0.05; done
%s
`

// noisy is an experiment whose repository says much when it is installed. The file go in
// the repository's folder lets it go on, and then the file on.
func (p *program) noisy(name, last string) (folder string) {
	p.t.Helper()
	folder = filepath.Join(p.dir, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.write(name+"/install.sh", fmt.Sprintf(noise, name, last))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).CombinedOutput(); err != nil {
			p.t.Fatalf("%v\n%s", err, out)
		}
	}
	p.write(name+".yaml", fmt.Sprintf("name: test\nsandbox:\n  timeout: 10m\n  repos: [{url: 'file://%s', install: sh install.sh}]\n", folder))
	return folder
}

func (p *program) touch(folder string, names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// wider are the live lines of a screen that have more columns than the terminal.
func wider(screen string, columns int) (lines []string) {
	for _, frame := range strings.Split(screen, termtest.Erase) {
		line := strings.SplitN(frame, "\r", 2)[0]
		if strings.ContainsAny(line, termtest.Frames) && text.StringWidthWithoutEscSequences(line) >= columns {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestInstallersAtATerminal: what installers print is one line that is written over.
func TestInstallersAtATerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	folder := p.noisy("quiet", "true")
	y := p.atTerminal(70, "up", "quiet.yaml")
	y.sees("held up")
	before := y.screen()
	if got := wider(before, 70); len(got) > 0 || strings.Contains(before, "title") || strings.Contains(before, "\x1b[32mgreen") {
		t.Errorf("wider than the terminal %q, or orders to it: %q", got, before)
	}
	if err := unix.IoctlSetWinsize(int(y.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 35}); err != nil {
		t.Fatal(err)
	}
	p.touch(folder, "go")
	y.seesAfter(len(before), "held up again") // a line of before may come once more
	p.touch(folder, "on")
	y.ends(0)
	after := y.all()[len(before):]
	if got := wider(after[strings.Index(after, termtest.Erase)+len(termtest.Erase):], 70); len(got) > 0 {
		t.Errorf("wider than the terminal: %q", got)
	}
	last := after[strings.LastIndex(after, "again"):]
	if got := wider(last, 35); len(got) > 0 {
		t.Errorf("wider than the smaller terminal: %q", got)
	}
	left := termtest.Visible(y.all())
	if n := len(left); n > 8 || strings.Contains(strings.Join(left, "\n"), "noise") || strings.ContainsAny(strings.Join(left, ""), termtest.Frames) {
		t.Errorf("%d lines stay on the screen: %q", n, left)
	}
	if !slices.ContainsFunc(left, regexp.MustCompile(`^✓ 1 repository: installed in \d+ s$`).MatchString) {
		t.Errorf("no line says what was installed: %q", left)
	}
}

// TestInstallersThatFail: the last of what was said is on the screen as it was said, and
// all of it in the file that the error names.
func TestInstallersThatFail(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.touch(p.noisy("failing", "echo it went wrong here >&2; exit 7"), "go", "on")
	y := p.atTerminal(70, "up", "failing.yaml")
	y.ends(3)
	left := termtest.Visible(y.all())
	all := strings.Join(left, "\n")
	for _, want := range []string{"  noise 40 of many", "  green " + strings.Repeat("漢字", 15) + " to the very end", "  held up", "  it went wrong here"} {
		if !slices.Contains(left, want) {
			t.Errorf("%q is not on the screen: %q", want, left)
		}
	}
	if strings.Contains(all, "noise 1 of") || strings.ContainsAny(all, termtest.Frames) {
		t.Errorf("too much is on the screen: %q", left)
	}
	named := regexp.MustCompile(`all that was printed is in (\S+\.log)`).FindStringSubmatch(all)
	if named == nil {
		t.Fatalf("the error names no file: %q", left)
	}
	kept, err := os.ReadFile(named[1])
	if err != nil || !strings.Contains(string(kept), "noise 1 of many\n") || !strings.Contains(string(kept), "it went wrong here\n") {
		t.Errorf("the file has %q, %v", kept, err)
	}
}

// TestInstallersThatAreStopped: --verbose shows each line, and Ctrl-C leaves no live line.
func TestInstallersThatAreStopped(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.noisy("stopped", "true")
	y := p.atTerminal(70, "up", "stopped.yaml", "--verbose")
	y.sees("  held up")
	y.types("\x03")
	y.ends(130)
	left := termtest.Visible(y.all())
	if !slices.Contains(left, "  noise 1 of many") || !slices.Contains(left, "  noise 40 of many") {
		t.Errorf("lines are missing: %q", left)
	}
	if strings.ContainsAny(strings.Join(left, ""), termtest.Frames) || !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, "seer: interrupt") }) {
		t.Errorf("what stays: %q", left)
	}
}

// all is the whole screen of one that has ended: what was written may not have been read.
func (y *typed) all() string {
	y.t.Helper()
	const last = "that was all"
	if !strings.Contains(y.screen(), last) {
		if _, err := y.tty.WriteString(last); err != nil {
			y.t.Fatal(err)
		}
		y.sees(last)
	}
	text, _, _ := strings.Cut(y.screen(), last)
	return text
}

// TestCopiesAtATerminal: a copy that is more than a moment says how far it is.
func TestCopiesAtATerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.run("up", "exp.yaml", "--name", "lab", "-q")
	p.write("big é.bin", strings.Repeat("x", 8_000_000))
	if err := os.MkdirAll(filepath.Join(p.dir, "tree", "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("tree/below/a", strings.Repeat("a", 5_000_000))
	p.write("tree/b", "b")
	term := []string{"TERM=xterm", "NO_COLOR=1"}
	for _, c := range []struct{ src, dst, what, bytes string }{
		{"big é.bin", "lab:big", `big é.bin → lab:big`, `8.0 MB`},
		{"lab:big", "back", `lab:big → back`, `8.0 MB`},
		{"tree", "lab:tree", `tree → lab:tree`, `5.0 MB`},
		{"lab:tree", "got", `lab:tree → got`, `5.0 MB`},
	} {
		raw := p.onTerminal(80, term, "cp", "-r", c.src, c.dst)
		left := strings.Join(termtest.Visible(raw), "\n")
		if !regexp.MustCompile(`^✓ ` + c.what + `: ` + c.bytes + ` in \d+\.\d s(, \d+\.\d [kM]B/s)?$`).MatchString(left) {
			t.Errorf("%s: what stays: %q", c.what, left)
		}
		if !strings.Contains(raw, "cp: "+c.what) {
			t.Errorf("%s is not shown while it is copied: %q", c.what, raw)
		}
	}
	result := `{"source":"lab:big","target":"back","bytes":8000000}` + "\r\n"
	for flag, want := range map[string]string{"--quiet": "", "--json": result} {
		if raw := p.onTerminal(80, term, "cp", flag, "lab:big", "back"); raw != want {
			t.Errorf("%s: %q", flag, raw)
		}
	}
}
