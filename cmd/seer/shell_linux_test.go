package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// typed is a program on a terminal at which somebody types.
type typed struct {
	t        *testing.T
	cmd      *exec.Cmd
	keyboard *os.File
	tty      *os.File
	mu       sync.Mutex
	seen     string
	over     chan error
}

// atTerminal starts seer with a terminal of its own, as a shell would.
func (p *program) atTerminal(columns uint16, args ...string) *typed {
	p.t.Helper()
	keyboard, tty := termtest.Open(p.t, columns)
	y := &typed{t: p.t, cmd: p.command(args...), keyboard: keyboard, tty: tty, over: make(chan error, 1)}
	y.cmd.Env = append(y.cmd.Env, "TERM=xterm", "NO_COLOR=1")
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = tty, tty, tty
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := y.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = y.cmd.Process.Kill() })
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := keyboard.Read(part)
			y.mu.Lock()
			y.seen += string(part[:n])
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { y.over <- y.cmd.Wait() }()
	return y
}

func (y *typed) screen() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.seen
}

// sees waits for a text on the screen.
func (y *typed) sees(text string) {
	y.t.Helper()
	y.seesAfter(0, text)
}

// seesAfter waits for a text behind a place of the screen.
func (y *typed) seesAfter(place int, text string) {
	y.t.Helper()
	testkit.EventuallyNil(y.t, strconv.Quote(text), func() error { return y.shows(place, text) })
}

// typesUntil types again and again until a text is on the screen.
func (y *typed) typesUntil(text, keys string) {
	y.t.Helper()
	testkit.EventuallyNil(y.t, strconv.Quote(text), func() error {
		err := y.shows(0, text)
		if err != nil {
			y.types(keys)
		}
		return err
	})
}

// shows fails unless a text is behind a place of the screen.
func (y *typed) shows(place int, text string) error {
	if shown := y.screen()[place:]; !strings.Contains(shown, text) {
		return fmt.Errorf("the screen has %q", termtest.Visible(shown))
	}
	return nil
}

func (y *typed) types(text string) {
	y.t.Helper()
	if _, err := y.keyboard.WriteString(text); err != nil {
		y.t.Fatal(err)
	}
}

// ends waits for the end, with one of the codes.
func (y *typed) ends(codes ...int) {
	y.t.Helper()
	select {
	case <-y.over:
		if got := y.cmd.ProcessState.ExitCode(); !slices.Contains(codes, got) {
			y.t.Errorf("it ended with %d, not %v; the screen has %q", got, codes, y.screen())
		}
	case <-time.After(patience):
		y.t.Fatalf("it does not end; the screen has %q", y.screen())
	}
}

// raw reports whether the terminal is as programs of a whole screen need it.
func (y *typed) raw() bool {
	y.t.Helper()
	modes, err := unix.IoctlGetTermios(int(y.tty.Fd()), unix.TCGETS)
	if err != nil {
		y.t.Fatal(err)
	}
	return modes.Lflag&unix.ICANON == 0
}

// TestShell types in a sandbox: sizes, keys and codes are those of this terminal.
func TestShell(t *testing.T) {
	p := newProgram(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.run("up", "exp.yaml", "--name", "lab", "-q")
	y := p.atTerminal(77, "shell", "lab")
	y.types("echo $((6*7)) $(pwd) é; stty size; tty\r")
	y.sees("42 /workspace é")
	y.sees("24 77")
	y.sees("/dev/pts/")
	if !y.raw() {
		t.Error("the terminal is not raw")
	}
	if err := unix.IoctlSetWinsize(int(y.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 120}); err != nil {
		t.Fatal(err)
	}
	y.typesUntil("50 120", "stty size\r")

	// Ctrl-C is the foreground program's, not seer's; so is Ctrl-D.
	y.types("trap 'echo caught-$((1+1))' INT; echo wait-$((1+2)); sleep 600\r")
	y.sees("wait-3")
	y.typesUntil("caught-2", "\x03")
	y.typesUntil("ready-5", "\recho ready-$((2+3))\r") // behind each Ctrl-C, which removes what was typed
	y.types("(exit 5)\r")
	testkit.EventuallyNil(t, "the end after Ctrl-D", func() error { // one that comes while a command runs is the command's
		if len(y.over) == 0 {
			y.types("\x04")
			return errors.New(y.screen())
		}
		return nil
	})
	y.ends(5)
	if y.raw() {
		t.Error("the terminal stays raw")
	}

	// A command instead of a shell, with its code; and one that is not there.
	y = p.atTerminal(80, "shell", "lab", "--", "sh", "-c", "test -t 0 && test -t 1 && echo on-a-terminal; exit 9")
	y.sees("on-a-terminal")
	y.ends(9)
	y = p.atTerminal(80, "shell", "lab", "--", "no-such-program")
	y.ends(125)
	y.sees("no-such-program")

	// The sandbox ends under the shell: it says so and gives the terminal back.
	y = p.atTerminal(80, "shell", "lab")
	y.types("echo here-$((1+3))\r")
	y.sees("here-4")
	p.run("down", "lab", "-q")
	y.ends(137, 125) // it was killed, or is lost
	if y.raw() {
		t.Error("the terminal stays raw")
	}
}

// TestRunAsksWhetherToKeep: after one Ctrl-C at a terminal, a yes leaves the sandbox, and
// anything else ends it.
func TestRunAsksWhetherToKeep(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("agent.py", "import time\nprint('at work', flush=True)\ntime.sleep(600)\n")
	p.write("run.yaml", "name: test\nsandbox: {timeout: 10m}\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")
	for _, c := range []struct {
		key  string
		left int // -1 = it ends with its lease
	}{{"y\r", 1}, {"n\r", 0}, {"\x03", -1}} {
		y := p.atTerminal(80, "run", "run.yaml")
		y.sees("at work")
		y.types("\x03")
		y.sees("Keep the sandbox")
		y.types(c.key)
		y.ends(130)
		if got := strings.Count(p.run("ls", "--json"), `"id"`); got != c.left && c.left >= 0 {
			t.Errorf("after %q: %d sandboxes, not %d; the screen has %q", c.key, got, c.left, y.screen())
		}
		p.run("down", "--all", "--quiet")
	}
}
