package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestProcessStreamsAndExitCode(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	p, out, errOut := m.run(protocol.ProcessSpec{Shell: "echo out; echo err >&2; exit 7"})
	if p.ExitCode != 7 || out != "out\n" || errOut != "err\n" || p.State != protocol.ProcessExited {
		t.Errorf("got %+v %q %q", p, out, errOut)
	}
	p, _, _ = m.run(protocol.ProcessSpec{Shell: "kill -9 $$"})
	if p.ExitCode != 137 || p.Signal != "KILL" {
		t.Errorf("killed: %+v", p)
	}
	file := filepath.Join(m.boot.Roots["/workspace"], "file")
	if err := os.WriteFile(file, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spec protocol.ProcessSpec
		code protocol.Code
		text string
	}{
		"nothing":        {protocol.ProcessSpec{}, protocol.Invalid, "either argv or shell"},
		"both":           {protocol.ProcessSpec{Argv: []string{"a"}, Shell: "b"}, protocol.Invalid, "either argv or shell"},
		"bad":            {protocol.ProcessSpec{Argv: []string{"a"}, Env: map[string]string{"": "x"}}, protocol.Invalid, "no valid name"},
		"no program":     {protocol.ProcessSpec{Argv: []string{"no-such-program"}}, protocol.NotFound, `"no-such-program"`},
		"no file":        {protocol.ProcessSpec{Argv: []string{"/no/such/program"}}, protocol.NotFound, "/no/such/program"},
		"no folder":      {protocol.ProcessSpec{Argv: []string{"true"}, Cwd: "/no/such/folder"}, protocol.NotFound, "/no/such/folder is not there"},
		"not a folder":   {protocol.ProcessSpec{Argv: []string{"true"}, Cwd: file}, protocol.Invalid, file + " is not a folder"},
		"below a file":   {protocol.ProcessSpec{Argv: []string{"true"}, Cwd: file + "/x"}, protocol.Invalid, file + "/x cannot be used: not a directory"},
		"not allowed":    {protocol.ProcessSpec{Argv: []string{file}}, protocol.Invalid, file + " cannot be started in "},
		"file as folder": {protocol.ProcessSpec{Argv: []string{file + "/x"}}, protocol.Invalid, file + "/x cannot be started in "},
	} {
		_, err := m.client.Processes().Start(testContext(t), tc.spec)
		if code := protocol.CodeOf(err); code != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v (%s)", name, err, code)
		}
	}
}

func TestProcessEnvironment(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	cfg := protocol.Config{Env: map[string]string{"A": "1", "B": "1"}, Secrets: map[string]string{"TOKEN": "s3cr3t-value"},
		Models: []protocol.Model{{Name: "m", Path: "/workspace/m", EnvName: "MODEL_M_PATH"}}, Price: 1.5}
	m.configure(cfg)
	_, out, _ := m.run(protocol.ProcessSpec{Shell: `echo $A $B $MODEL_M_PATH ${SEER_BOOT-unset} ${#TOKEN}; pwd`, Env: map[string]string{"B": "2"}})
	workspace := m.boot.Roots["/workspace"]
	if want := fmt.Sprintf("1 2 %s/m unset 12\n%s\n", workspace, workspace); out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	info, err := m.client.Config(testContext(t))
	if err != nil || len(info.Secrets) != 1 || info.Secrets[0] != "TOKEN" || info.Price != 1.5 {
		t.Errorf("config %+v, %v", info, err)
	}
	err = m.client.PutConfig(testContext(t), protocol.Config{Secrets: map[string]string{"S": "abc"}})
	if protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("a short secret: %v", err)
	}
}

func TestProcessSecretsAreScrubbed(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	secrets := map[string]string{"TOKEN": "s3cr3t-value", "QUOTED": `a"b\c`}
	m.configure(protocol.Config{Secrets: secrets})
	// One byte at a time, so that the secret never comes in one piece.
	p, out, errOut := m.run(protocol.ProcessSpec{Argv: []string{"python3", "-c", `
import os, sys, json
for c in "x" + os.environ["TOKEN"] + "y s3cr3t-":
    sys.stdout.write(c); sys.stdout.flush()
print(json.dumps(os.environ["QUOTED"]), os.environ["TOKEN"], file=sys.stderr)`}})
	if p.ExitCode != 0 || out != "x[secret TOKEN]y s3cr3t-" || errOut != "\"[secret QUOTED]\" [secret TOKEN]\n" {
		t.Errorf("got %q %q", out, errOut)
	}
}

func TestProcessStdin(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	var out bytes.Buffer
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	p, err := m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Argv: []string{"cat"}}, strings.NewReader(big), &out, nil)
	if err != nil || p.ExitCode != 0 || out.String() != big {
		t.Errorf("%+v %v, %d bytes", p, err, out.Len())
	}
	// A process that does not read, and an input that never ends.
	r, w := io.Pipe()
	defer w.Close()
	p, err = m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Argv: []string{"true"}}, r, nil, nil)
	if err != nil || p.ExitCode != 0 {
		t.Errorf("%+v %v", p, err)
	}
	p, err = m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Shell: "exec 0<&-; sleep 0.1"}, strings.NewReader(big), nil, nil)
	if err != nil || p.ExitCode != 0 {
		t.Errorf("closed stdin: %+v %v", p, err)
	}
}

func TestProcessStdinRepeats(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Argv: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		offset int64
		data   string
		eof    bool
		next   int64
	}{{0, "abc", false, 3}, {0, "abcd", false, 4}, {1, "bcd", false, 4}, {4, "e", true, 5}} {
		next, err := m.client.Processes().WriteStdin(ctx, p.ID, step.offset, []byte(step.data), step.eof)
		if err != nil || next != step.next {
			t.Errorf("%+v: %d %v", step, next, err)
		}
	}
	var out bytes.Buffer
	if _, end, err := m.client.Processes().Output(ctx, p.ID, 0, true, &out, nil); err != nil || end.ExitCode != 0 || out.String() != "abcde" {
		t.Errorf("%+v %v %q", end, err, out.String())
	}
	if _, err := m.client.Processes().WriteStdin(ctx, p.ID, 5, []byte("f"), false); protocol.CodeOf(err) != protocol.Conflict {
		t.Errorf("after the end: %v", err)
	}
}

// A daemon that has left its parent, group and session.
const daemon = `python3 -c '
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(1000)' `

func TestProcessTimeoutKillsDaemons(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	mark := filepath.Join(m.dir, "pid")
	for timeout := 1.5; ; timeout *= 4 { // more where the computer is too slow for the daemon to come up
		p, _, _ := m.run(protocol.ProcessSpec{Shell: daemon + mark + " & sleep 1000 & sleep 1000", TimeoutSeconds: timeout})
		if p.ExitCode != 124 || !p.TimedOut {
			t.Errorf("%+v", p)
		}
		if left := marked("SEER_PROCESS=" + p.ID); len(left) > 0 {
			t.Errorf("left after the timeout: %v", left)
		}
		_, err := os.Stat(mark)
		if err == nil {
			return
		}
		if timeout > 60 {
			t.Fatalf("the daemon did not come up: %v", err)
		}
	}
}

func TestProcessDoesNotWaitForGrandchildren(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	p, out, _ := m.run(protocol.ProcessSpec{Shell: "echo before; (until test -e later; do sleep 0.02; done; echo late; exec sleep 1000) &"})
	if p.ExitCode != 0 || out != "before\n" {
		t.Errorf("%+v %q", p, out)
	}
	m.goOn("later")
	testkit.EventuallyNil(t, "the grandchild to survive the closed output", func() error {
		for _, line := range marked("SEER_PROCESS=" + p.ID) {
			if strings.Contains(line, "sleep 1000") {
				return nil
			}
		}
		return errors.New("it is not there")
	})
	if err := m.client.Processes().Delete(testContext(t), p.ID); err != nil {
		t.Error(err)
	}
	if left := marked("SEER_PROCESS=" + p.ID); len(left) > 0 {
		t.Errorf("left after the delete: %v", left)
	}
}

// Two machines of one computer see each other's processes, and have an id each of the
// same name.
func TestSameIDOnTwoMachines(t *testing.T) {
	t.Parallel()
	one, other := up(t, nil), up(t, nil)
	spec := protocol.ProcessSpec{ID: "jupyter", Shell: "exec sleep 1000", Background: true}
	for _, m := range []*machine{one, other} {
		if _, err := m.client.Processes().Start(testContext(t), spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.client.Processes().Delete(testContext(t), spec.ID); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // what was killed has ended by then
	if p, err := other.client.Processes().Get(testContext(t), spec.ID); err != nil || p.State != protocol.ProcessRunning {
		t.Errorf("the other machine's: %+v, %v", p, err)
	}
}

func TestProcessLargeOutputAtExit(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	var count countWriter
	p, err := m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Shell: "head -c 50000000 /dev/zero"}, nil, &count, nil)
	if err != nil || p.ExitCode != 0 || count.n != 50000000 {
		t.Errorf("%+v %v %d", p, err, count.n)
	}
}

type countWriter struct{ n int }

func (c *countWriter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

func TestProcessCancelKillsTree(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx, cancel := context.WithCancel(testContext(t))
	first := &onWrite{do: cancel}
	_, err := m.client.Processes().Run(ctx, protocol.ProcessSpec{ID: "p-cancel", Shell: "sleep 1000 & echo up; sleep 1000"}, nil, first, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := marked("SEER_PROCESS=p-cancel"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

type onWrite struct {
	once sync.Once
	do   func()
}

func (o *onWrite) Write(p []byte) (int, error) { o.once.Do(o.do); return len(p), nil }

func TestProcessSignalAndBackground(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Name: "bg", Background: true,
		Shell: `trap "echo caught; exit 3" TERM; echo ready; while :; do sleep 0.05; done`})
	if err != nil {
		t.Fatal(err)
	}
	same, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{ID: p.ID, Shell: "echo twice"})
	if err != nil || same.Name != "bg" {
		t.Errorf("a repeated start: %+v %v", same, err)
	}
	testkit.EventuallyNil(t, "output", func() error {
		var out bytes.Buffer
		if _, _, err := m.client.Processes().Output(ctx, p.ID, 0, false, &out, nil); err != nil || out.String() != "ready\n" {
			return fmt.Errorf("%q %v", out.String(), err)
		}
		return nil
	})
	if err := m.client.Processes().Signal(ctx, p.ID, "HUP?"); protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("an unknown signal: %v", err)
	}
	if err := m.client.Processes().Signal(ctx, p.ID, "TERM"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, end, err := m.client.Processes().Output(ctx, p.ID, 0, true, &out, nil)
	if err != nil || end.ExitCode != 3 || out.String() != "ready\ncaught\n" {
		t.Errorf("%+v %v %q", end, err, out.String())
	}
	list, err := m.client.Processes().List(ctx)
	if err != nil || len(list) != 1 || list[0].ID != p.ID {
		t.Errorf("%+v %v", list, err)
	}
	if err := m.client.Processes().Delete(ctx, p.ID); err != nil {
		t.Error(err)
	}
	if _, err := m.client.Processes().Get(ctx, p.ID); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("after the delete: %v", err)
	}
}

func TestProcessOutputResumes(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	cut := newCuttingProxy(t, strings.TrimPrefix(m.boot.Listen, "unix:"))
	c := newClient(t, "unix:"+cut.path, m.token)
	out := &lines{then: m.goOn} // one after another, so that none waits for the others in one piece
	p, err := c.Processes().Run(testContext(t), protocol.ProcessSpec{Argv: []string{"python3", "-uc", `
import os, time
for i in range(100):
    print(i)
    while not os.path.exists(str(i)): time.sleep(0.002)`}}, nil, out, nil)
	if err != nil || p.ExitCode != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintln(&want, i)
	}
	if out.String() != want.String() {
		t.Errorf("got %q", out.String())
	}
	if cut.cuts() < 3 {
		t.Errorf("only %d connections were cut", cut.cuts())
	}
}

// lines does something after each line.
type lines struct {
	bytes.Buffer
	then func(line string)
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range strings.FieldsSeq(string(p)) {
		defer l.then(line)
	}
	return l.Buffer.Write(p)
}

// cuttingProxy passes bytes on and cuts every connection after 300 bytes of
// answer.
type cuttingProxy struct {
	path string
	mu   sync.Mutex
	n    int
}

func newCuttingProxy(t *testing.T, target string) *cuttingProxy {
	p := &cuttingProxy{path: filepath.Join(t.TempDir(), "p")}
	testkit.Serve(testkit.Listen(t, "unix", p.path), func(near net.Conn) { p.pass(near, target) })
	return p
}

func (p *cuttingProxy) pass(near net.Conn, target string) {
	far, err := net.Dial("unix", target)
	if err != nil {
		return
	}
	defer far.Close()
	go io.Copy(far, near)
	if n, _ := io.CopyN(near, far, 500); n == 500 {
		p.mu.Lock()
		p.n++
		p.mu.Unlock()
	}
}

func (p *cuttingProxy) cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// Arguments may be longer than a record of output.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	argv := []string{"printf", "%s"}
	for range 16 {
		argv = append(argv, strings.Repeat("x", 64<<10))
	}
	p, out, said := m.run(protocol.ProcessSpec{Argv: argv})
	if p.ExitCode != 0 || len(out) != 1<<20 || said != "" {
		t.Errorf("exit code %d, %d bytes, %.100q", p.ExitCode, len(out), said)
	}
}
