package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
	"github.com/seer-engine/seer/internal/attack"
)

// orders are what a confined agent prints, as printf of a shell takes it.
const orders = `\033]52;c;aGk=\007\033]0;title\007\033[2J\033[1A\033[6n\033[8mconcealed\033[0m\033[37;47mpale\033[0m` +
	`\033P$qm\033\\\033_apc\033\\\302\2332J\342\200\256turned\363\240\201\201tag\342\200\213zero\010\n`

// shows are what such an agent's run writes to the terminal, and what is in agent.log.
type shows struct{ screen, log string }

// shown runs the agent once with the defence and once without, for all rows.
func shown(t *testing.T) func(defended bool) shows {
	run := func(defended bool) func() shows {
		return sync.OnceValue(func() shows { return agentOnScreen(t, defended) })
	}
	with, without := run(true), run(false)
	return func(defended bool) shows {
		if defended {
			return with()
		}
		return without()
	}
}

// agentOnScreen is seer run in this process, so that the defence can be switched off.
func agentOnScreen(t *testing.T, defended bool) shows {
	i, dir := install(t), t.TempDir()
	sockets, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "XDG_RUNTIME_DIR": sockets, "XDG_CACHE_HOME": i.cache, "XDG_STATE_HOME": t.TempDir(), "TERM": "xterm",
		"SEER_ARTIFACTS_DIR": filepath.Join(i.bin, "runtime"), "SEER_PLUGIN_DIR": filepath.Join(i.bin, "plugins"),
	} {
		t.Setenv(name, value)
	}
	// Five times, because what comes by the other stream may stand between two pieces.
	agent := "printf '" + orders + "' && for i in 1 2 3 4 5; do printf '\\033'; printf ']52;c;c3BsaXQ=\\007\\n'; done && printf '\\033]8;;http://x\\033\\\\' >&2"
	file := filepath.Join(dir, "exp.yaml")
	text := fmt.Sprintf("name: hostile\nsandbox: {timeout: 10m}\nagent: {command: [sh, -c, %q]}\n", agent)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, tty := termtest.Open(t, 200)
	if modes, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	} else if modes.Oflag &^= unix.OPOST; unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, modes) != nil {
		t.Fatal("the terminal cannot be set")
	}
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		seen <- string(text)
	}()
	a := cli.New(tty, tty, tty, cli.Build{})
	a.UI.Unsanitized = !defended
	code := a.Run(context.Background(), []string{"run", file}, newRoot)
	tty.Close()
	s := shows{screen: <-seen}
	log, err := os.ReadFile(filepath.Join(dir, "runs", "latest", "agent.log"))
	if code != 0 || err != nil {
		t.Fatalf("exit code %d, %v; the screen has %q", code, err, s.screen)
	}
	s.log = string(log)
	return s
}

// TestAttacksOnTheTerminal has a confined agent give orders to the terminal of seer run.
func TestAttacksOnTheTerminal(t *testing.T) {
	run := shown(t)
	// given reports whether the terminal was given an order as it is, or what it was given.
	given := func(order string) func(*testing.T, bool) error {
		return func(t *testing.T, defended bool) error {
			s := run(defended)
			if strings.Contains(s.log, order) {
				t.Errorf("agent.log has %q", order)
			}
			if strings.Contains(s.screen, order) {
				return nil
			}
			return fmt.Errorf("the terminal was given %s", s.screen)
		}
	}
	attack.Run(t, []attack.Row{
		{Name: "agent-writes-clipboard", Want: `\x1b]52;c;aGk=`, Try: given("\x1b]52;c;aGk=")},
		{Name: "agent-splits-sequence", Want: `\x1b]52;c;c3BsaXQ=`, Try: given("\x1b]52;c;c3BsaXQ=")},
		{Name: "agent-sets-title", Want: `\x1b]0;title`, Try: given("\x1b]0;title")},
		{Name: "agent-links-text", Want: `\x1b]8;;http://x\x1b\`, Try: given("\x1b]8;;")},
		{Name: "agent-erases-screen", Want: "the terminal was given", Try: given("\x1b[2J")},
		{Name: "agent-moves-cursor", Want: "the terminal was given", Try: given("\x1b[1A")},
		{Name: "agent-asks-terminal", Want: "the terminal was given", Try: given("\x1b[6n")},
		{Name: "agent-conceals-text", Want: "concealed", Try: given("\x1b[8m")},
		{Name: "agent-paints-text-in-its-background", Want: "\x1b[37mpale", Try: given("\x1b[37;47m")},
		{Name: "agent-sends-device-control", Want: `\x1bP$qm`, Try: given("\x1bP$qm")},
		{Name: "agent-sends-program-command", Want: `\x1b_apc`, Try: given("\x1b_apc")},
		{Name: "agent-sends-c1-control", Want: `\u009b2J`, Try: given("\u009b2J")},
		{Name: "agent-turns-text", Want: `\u202eturned`, Try: given("\u202eturned")},
		{Name: "agent-hides-tag-characters", Want: `\U000e0041tag`, Try: given("\U000e0041tag")},
		{Name: "agent-hides-zero-width-characters", Want: `\u200bzero`, Try: given("\u200bzero")},
		{Name: "agent-takes-text-back", Want: "zero\n", Try: given("zero\b")},
	})
}
