package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal of some width. What is written to it is read from
// screen.
func openTerminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		screen.Close()
		tty.Close()
	})
	return screen, tty
}

// onTerminal runs seer with all its streams on a terminal.
func (p *program) onTerminal(columns uint16, env []string, args ...string) string {
	p.t.Helper()
	screen, tty := openTerminal(p.t, columns)
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

// visible plays what was written to a terminal: carriage return and erasing only.
func visible(text string) []string {
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i := strings.LastIndex(line, erase); i >= 0 {
			line = line[i+len(erase):]
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestProgressOnATerminal(t *testing.T) {
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	raw := p.onTerminal(60, []string{"TERM=xterm"}, "up", "exp.yaml", "--name", "lab")
	if !strings.Contains(raw, "⠙") || !strings.Contains(raw, "\x1b[32m✓\x1b[0m") {
		t.Errorf("no live line or no colour: %q", raw)
	}
	for _, frame := range strings.Split(raw, erase) {
		shown := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.SplitN(frame, "\r", 2)[0], "")
		if strings.ContainsAny(shown, "⠋⠙⠹") && len([]rune(shown)) > 60 {
			t.Errorf("a live line is wider than the terminal: %q", shown)
		}
	}
	left := strings.Join(visible(raw), "\n")
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
	for _, line := range visible(small) {
		if len([]rune(line)) > 40 {
			p.t.Errorf("a line of %d columns: %q", len([]rune(line)), line)
		}
	}
}
