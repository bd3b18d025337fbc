package runtime_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// terminal is a process of a test with its terminal.
type terminal struct {
	t    *testing.T
	c    *client.Client
	id   string
	out  *testkit.Buffer
	sent int64
	end  chan protocol.Process
}

func (m *machine) terminal(t *testing.T, spec protocol.ProcessSpec) *terminal {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	t.Cleanup(cancel)
	if spec.PTY == nil {
		spec.PTY = &protocol.PTY{}
	}
	spec.Stdin = true
	p, err := m.client.Processes().Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, c: m.client, id: p.ID, out: &testkit.Buffer{}, end: make(chan protocol.Process, 1)}
	go func() {
		if _, end, _ := m.client.Processes().Output(ctx, p.ID, 0, true, x.out, io.Discard); end != nil {
			x.end <- *end
		}
	}()
	return x
}

func (x *terminal) send(text string) {
	x.t.Helper()
	n, err := x.c.Processes().WriteStdin(testContext(x.t), x.id, x.sent, []byte(text), false)
	if err != nil {
		x.t.Fatalf("send %q: %v", text, err)
	}
	x.sent = n
}

func (x *terminal) expect(text string) {
	x.t.Helper()
	testkit.EventuallyNil(x.t, fmt.Sprintf("%q", text), func() error {
		if all := x.out.String(); !strings.Contains(all, text) {
			return fmt.Errorf("the terminal shows %q", all[max(0, len(all)-1000):])
		}
		return nil
	})
}

func (x *terminal) ended() protocol.Process {
	x.t.Helper()
	select {
	case p := <-x.end:
		return p
	case <-time.After(2 * time.Minute):
		x.t.Fatalf("it does not end; the terminal shows %q", x.out.String())
		return protocol.Process{}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	t.Run("a shell", func(t *testing.T) {
		x := m.terminal(t, protocol.ProcessSpec{Argv: []string{"bash", "--norc", "-i"}, PTY: &protocol.PTY{Rows: 40, Cols: 132, Term: "dumb"},
			Env: map[string]string{"PS1": "ready> "}})
		x.expect("ready> ")
		x.send("stty size; echo term=$TERM; tty\n")
		x.expect("40 132")
		x.expect("term=dumb")
		x.expect("/dev/pts/")
		if err := m.client.Processes().Resize(testContext(t), x.id, 50, 99); err != nil {
			t.Fatal(err)
		}
		x.send("stty size\n")
		x.expect("50 99")
		x.send("sleep 1000\n")
		testkit.EventuallyNil(t, "the command to be in front", func() error {
			if all := marked("SEER_PROCESS=" + x.id); !strings.Contains(strings.Join(all, ","), "sleep 1000") {
				return fmt.Errorf("%v", all)
			}
			return nil
		})
		x.send("\x03") // Ctrl-C ends what is in front, not the shell
		x.send("echo still $((40 + 2))\n")
		x.expect("still 42")
		x.send("sleep 1000 &\n")
		x.send("exit 7\n")
		if p := x.ended(); p.ExitCode != 7 {
			t.Errorf("%+v", p)
		}
		testkit.EventuallyNil(t, "what the shell left behind to be hung up", func() error {
			if left := marked("SEER_PROCESS=" + x.id); len(left) > 0 {
				return fmt.Errorf("%v", left)
			}
			return nil
		})
		if err := m.client.Processes().Resize(testContext(t), x.id, 1, 1); protocol.CodeOf(err) != protocol.Conflict {
			t.Errorf("resize after the end: %v", err)
		}
	})
	t.Run("the end of input", func(t *testing.T) {
		for _, text := range []string{"a line\n", "no line", ""} {
			x := m.terminal(t, protocol.ProcessSpec{Shell: "stty -echo; echo go; cat; echo over"})
			x.expect("go\r\n")
			if _, err := m.client.Processes().WriteStdin(testContext(t), x.id, 0, []byte(text), true); err != nil {
				t.Fatal(err)
			}
			if p := x.ended(); p.ExitCode != 0 || !strings.HasPrefix(x.out.String(), "go\r\n"+strings.ReplaceAll(text, "\n", "\r\n")) || !strings.HasSuffix(x.out.String(), "over\r\n") {
				t.Errorf("%q: %+v %q", text, p, x.out.String())
			}
		}
	})
	t.Run("all of the output", func(t *testing.T) {
		x := m.terminal(t, protocol.ProcessSpec{Shell: "seq 1 200000; echo to stderr >&2"})
		p := x.ended()
		lines := strings.Count(x.out.String(), "\r\n")
		if p.ExitCode != 0 || lines != 200001 || !strings.HasSuffix(x.out.String(), "200000\r\nto stderr\r\n") {
			t.Errorf("%+v, %d lines", p, lines)
		}
	})
	t.Run("mistakes", func(t *testing.T) {
		ctx := testContext(t)
		for _, spec := range []protocol.ProcessSpec{
			{Shell: "true", PTY: &protocol.PTY{Rows: -1}}, {Shell: "true", PTY: &protocol.PTY{Cols: 100_000}},
			{Shell: "true", PTY: &protocol.PTY{Term: "x\x00"}}, {Shell: "true", PTY: &protocol.PTY{}, Restart: true},
		} {
			if _, err := m.client.Processes().Start(ctx, spec); protocol.CodeOf(err) != protocol.Invalid {
				t.Errorf("%+v: %v", spec, err)
			}
		}
		p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Shell: "sleep 1000", Background: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.client.Processes().Resize(ctx, p.ID, 10, 10); protocol.CodeOf(err) != protocol.Invalid {
			t.Errorf("resize without a terminal: %v", err)
		}
		if _, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Argv: []string{"/no/such"}, PTY: &protocol.PTY{}}); protocol.CodeOf(err) != protocol.NotFound {
			t.Errorf("no program: %v", err)
		}
	})
}

// TestTerminalFloods has a program write without end into a terminal that nobody reads,
// and interrupts it.
func TestTerminalFloods(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Shell: "trap 'echo interrupted; exit 9' INT; yes & wait", PTY: &protocol.PTY{}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	var before int64
	testkit.EventuallyNil(t, "the flood to be held", func() error {
		p, err := m.client.Processes().Get(ctx, p.ID)
		if err != nil || p.OutputBytes < 1<<20 || p.OutputBytes != before {
			before = p.OutputBytes
			return fmt.Errorf("%+v %v", p, err)
		}
		return nil
	})
	if before > 2<<20 {
		t.Errorf("%d bytes were kept of what nobody reads", before)
	}
	if _, err := m.client.Processes().WriteStdin(ctx, p.ID, 0, []byte("\x03"), false); err != nil {
		t.Fatal(err)
	}
	_, end, err := m.client.Processes().Output(ctx, p.ID, 0, true, io.Discard, io.Discard)
	if err != nil || end.ExitCode != 9 {
		t.Errorf("%+v %v", end, err)
	}
}

// TestTerminalIsHungUp ends what has a terminal by signals.
func TestTerminalIsHungUp(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	for _, signal := range []string{"HUP", "KILL"} {
		mark := filepath.Join(m.dir, signal)
		x := m.terminal(t, protocol.ProcessSpec{Shell: daemon + mark + "; echo on; exec sleep 1000"})
		x.expect("on")
		if err := m.client.Processes().Signal(testContext(t), x.id, signal); err != nil {
			t.Fatal(err)
		}
		if p := x.ended(); p.Signal != signal {
			t.Errorf("%+v", p)
		}
		if err := m.client.Processes().Delete(testContext(t), x.id); err != nil {
			t.Error(err)
		}
		if left := marked("SEER_PROCESS=" + x.id); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}
