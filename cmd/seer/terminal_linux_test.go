package main

import (
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
)

// onTerminal runs seer with all its streams on a terminal.
func (p *program) onTerminal(columns uint16, env []string, args ...string) string {
	p.t.Helper()
	screen, tty := termtest.Open(p.t, columns)
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		seen <- string(text)
	}()
	err := cmd.Run()
	tty.Close()
	text := <-seen
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		p.t.Fatal(err)
	}
	return text
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	raw := p.onTerminal(60, []string{"TERM=xterm"}, "up", "exp.yaml", "--name", "lab")
	if !strings.Contains(raw, "⠙") || !strings.Contains(raw, "\x1b[32m✓\x1b[0m") {
		t.Errorf("no live line or no colour: %q", raw)
	}
	for _, frame := range strings.Split(raw, termtest.Erase) {
		shown := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.SplitN(frame, "\r", 2)[0], "")
		if strings.ContainsAny(shown, "⠋⠙⠹") && len([]rune(shown)) > 60 {
			t.Errorf("a live line is wider than the terminal: %q", shown)
		}
	}
	left := strings.Join(termtest.Visible(raw), "\n")
	if strings.ContainsAny(left, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") || !regexp.MustCompile(`(?m)^sb-\w{10}$`).MatchString(left) {
		t.Errorf("what stays on the screen: %q", left)
	}

	// Without colour and without live lines, where that is asked for.
	for name, c := range map[string]struct{ env, args []string }{
		"NO_COLOR":   {[]string{"TERM=xterm", "NO_COLOR=1"}, []string{"up", "exp.yaml"}},
		"--no-color": {[]string{"TERM=xterm"}, []string{"up", "exp.yaml", "--no-color"}},
		"dumb":       {[]string{"TERM=dumb"}, []string{"up", "exp.yaml"}},
		"--json":     {[]string{"TERM=xterm"}, []string{"up", "exp.yaml", "--json"}},
	} {
		if raw := p.onTerminal(80, c.env, c.args...); strings.Contains(raw, "\x1b[3") || (name != "NO_COLOR" && name != "--no-color" && strings.Contains(raw, "\x1b")) {
			t.Errorf("%s: %q", name, raw)
		}
	}
	p.narrow()
}

// narrow looks at tables where there is little room.
func (p *program) narrow() {
	p.t.Helper()
	wide := p.onTerminal(200, []string{"TERM=xterm"}, "ls")
	if !strings.Contains(wide, "ISOLATION") || !strings.Contains(wide, "lab") {
		p.t.Errorf("a wide table: %q", wide)
	}
	small := p.onTerminal(40, []string{"TERM=xterm"}, "ls")
	if strings.Contains(small, "ISOLATION") || !strings.Contains(small, "sb-") {
		p.t.Errorf("a narrow table: %q", small)
	}
	for _, line := range termtest.Visible(small) {
		if len([]rune(line)) > 40 {
			p.t.Errorf("a line of %d columns: %q", len([]rune(line)), line)
		}
	}
}
