package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// answering runs seer with somebody at the keyboard, who answers a question.
func (p *program) answering(answer string, args ...string) (said string, code int) {
	p.t.Helper()
	keyboard, tty := termtest.Open(p.t, 80)
	out := &testkit.Buffer{}
	c := p.command(args...)
	c.Stdin, c.Stderr = tty, out
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for end := time.After(patience); ; {
		if strings.Contains(out.String(), "[y/N]") {
			break
		}
		select {
		case err := <-ended:
			p.t.Fatalf("seer %q asks nothing: %v\n%s", args, err, out)
		case <-end:
			_ = c.Process.Kill()
			p.t.Fatalf("seer %q asks nothing:\n%s", args, out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if _, err := keyboard.WriteString(answer + "\n"); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
	case <-time.After(patience):
		_ = c.Process.Kill()
		p.t.Fatalf("seer %q does not end:\n%s", args, out)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// Whoever says no is told that nothing was done, and not of a mistake.
func TestNoIsNoMistake(t *testing.T) {
	p := newProgram(t)
	wasm, err := filepath.Abs("../../engine/plugin/host/testdata/v1/expose-v1.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{{"install", "Nothing was installed."}, {"grant", "Nothing was granted."}} {
		said, code := p.answering("n", "plugin", c.command, wasm)
		if _, last, _ := strings.Cut(said, "[y/N] "); strings.TrimSpace(last) != c.want || code != cli.ExitPlugin {
			t.Errorf("%s: code %d, %q", c.command, code, last)
		}
	}
	if said, code := p.answering("y", "plugin", "install", wasm); code != 0 || !strings.Contains(said, "Installed expose-v1") {
		t.Errorf("yes: code %d, %s", code, said)
	}
}
