package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

// ended waits for the loader's exit and returns its code.
func (m *machine) ended() int {
	m.t.Helper()
	select {
	case <-m.exited:
	case <-time.After(5 * time.Minute):
		m.t.Fatalf("the machine does not end; its log:\n%s", m.log)
	}
	return m.cmd.ProcessState.ExitCode()
}

// occupy leaves behind a service, a process and a daemon.
func (m *machine) occupy() {
	m.t.Helper()
	m.mustServe("tools", counter)
	mark := filepath.Join(m.dir, "pid")
	_, err := m.client.Processes().Start(testContext(m.t), protocol.ProcessSpec{Background: true, Shell: daemon + mark + "; sleep 1000 & exec sleep 1000"})
	if err != nil {
		m.t.Fatal(err)
	}
	testkit.EventuallyNil(m.t, "the processes to run", func() error {
		if n := len(marked("SEER_MACHINE=" + m.boot.Machine)); n < 5 { // runtime, worker, daemon, two sleeps
			return fmt.Errorf("only %d", n)
		}
		return nil
	})
}

func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]protocol.LeaseRequest{
		"attached": {Kind: protocol.LeaseAttached, TTLSeconds: 0.5},
		"detached": {Kind: protocol.LeaseDetached, TTLSeconds: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := up(t, nil)
			m.occupy()
			if _, err := m.client.PutLease(testContext(t), req); err != nil {
				t.Fatal(err)
			}
			if code := m.ended(); code != 0 {
				t.Errorf("exit %d", code)
			}
			m.gone()
		})
	}
}

// TestLeaseIsRenewedAtAStandstill has a runtime stand still beyond the end of its lease: a
// renewal that came meanwhile counts.
func TestLeaseIsRenewedAtAStandstill(t *testing.T) {
	t.Parallel()
	for ttl := time.Second; ; ttl *= 4 { // more where the computer is too slow to stop it before
		m := up(t, nil)
		pid := m.runtimePid()
		_, err := m.client.PutLease(m.living(), protocol.LeaseRequest{Kind: protocol.LeaseAttached, TTLSeconds: ttl.Seconds()})
		began := time.Now()
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
		renewed := make(chan error, 1)
		go func() {
			_, err := m.client.PutLease(m.living(), protocol.LeaseRequest{Kind: protocol.LeaseAttached, TTLSeconds: 600})
			renewed <- err
		}()
		time.Sleep(time.Until(began.Add(ttl + 2*time.Second)))
		if err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT), <-renewed); err == nil {
			_, err = m.client.Health(m.living())
		}
		if err == nil {
			return
		}
		if ttl > time.Minute {
			t.Fatal(err)
		}
	}
}

func TestLeaseIdle(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.mustServe("tools", counter)
	// A call on a connection that the runtime does not see, and longer than the limit.
	conn, err := newClient(t, m.boot.Listen, serviceToken+"tools").Calls().Connect(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	called := make(chan error, 1)
	go func() {
		out, err := conn.Call(ctx, "until", []any{"call"}, nil)
		if err == nil && string(out) != `"call"` {
			err = errors.New(string(out))
		}
		called <- err
	}()
	m.busy()
	const idle = time.Second
	if _, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600, IdleSeconds: idle.Seconds()}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(idle * 3 / 2)
	// A process, which begins before the call ends: there is always one use of the machine.
	p, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Shell: "until test -e process; do sleep 0.02; done", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	m.goOn("call")
	if err := <-called; err != nil {
		t.Error(err)
	}
	time.Sleep(idle * 3 / 2)
	if now, err := m.client.Processes().Get(ctx, p.ID); err != nil || now.State != protocol.ProcessRunning {
		t.Errorf("%+v %v", now, err)
	}
	m.goOn("process")
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestLeaseIsRenewedAndTold(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	for _, ttl := range []int64{600, 1200, 300} { // the one that comes last counts
		before := time.Now().Unix()
		l, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseAttached, TTLSeconds: float64(ttl), IdleSeconds: 60})
		if err != nil || l.Kind != protocol.LeaseAttached || l.IdleSeconds != 60 || l.HardEndUnix != m.boot.EndUnix ||
			l.EndUnix < before+ttl || l.EndUnix > time.Now().Unix()+ttl {
			t.Errorf("%d seconds after %d: %+v %v", ttl, before, l, err)
		}
		now, err := m.client.Lease(ctx)
		if now.NowUnix < l.NowUnix {
			t.Errorf("told at %d, before %d", now.NowUnix, l.NowUnix)
		}
		if now.NowUnix = l.NowUnix; err != nil || now != l {
			t.Errorf("%+v, not %+v; %v", now, l, err)
		}
	}
	for _, bad := range []protocol.LeaseRequest{{Kind: "other", TTLSeconds: 1}, {Kind: protocol.LeaseAttached}, {Kind: protocol.LeaseAttached, TTLSeconds: -1}, {Kind: protocol.LeaseAttached, TTLSeconds: 1, IdleSeconds: -1}} {
		if _, err := m.client.PutLease(ctx, bad); protocol.CodeOf(err) != protocol.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestHardEnd(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(m *machine) error{
		"before the runtime": func(*machine) error { return nil },
		"with the runtime": func(m *machine) error {
			err := m.tryPush()
			if err == nil {
				_, err = m.client.PutLease(m.living(), protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600})
			}
			return err
		},
		"with a runtime that hangs": func(m *machine) error {
			pid, err := 0, m.tryPush()
			if err == nil {
				pid, err = m.findRuntime()
			}
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGSTOP)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsWhile(t, prepare)
		})
	}
}

// endsWhile gives a machine a few seconds, and more where it has ended before it is prepared.
func endsWhile(t *testing.T, prepare func(m *machine) error) {
	t.Helper()
	for seconds := 4 * time.Second; ; seconds *= 3 {
		m := start(t, func(b *loader.Boot) { b.EndUnix = time.Now().Add(seconds).Unix() })
		err := prepare(m)
		if code := m.ended(); code != 0 {
			t.Errorf("exit %d", code)
		}
		if err == nil {
			return
		}
		if seconds > 2*time.Minute {
			t.Fatal(err)
		}
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.occupy()
	if err := m.client.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if left, _ := filepath.Glob(filepath.Join(m.boot.Scratch, "*")); len(left) > 0 {
		t.Errorf("files were left: %v", left)
	}
}

func TestTermination(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := up(t, nil)
			m.occupy()
			_ = m.cmd.Process.Signal(sig)
			m.ended()
			m.gone() // even when the loader could do nothing any more
		})
	}
}

// A command that is killed because its machine ends says so.
func TestMachineEnds(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	running := &onWrite{do: func() { _ = m.cmd.Process.Signal(syscall.SIGTERM) }}
	p, err := m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Shell: "echo up; sleep 1000"}, nil, running, nil)
	if err != nil || p.ExitCode != 137 || !p.MachineEnds {
		t.Errorf("%+v: %v", p, err)
	}
	m.ended()
}

func TestRuntimeIsKilled(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.configure(protocol.Config{Secrets: map[string]string{"TOKEN": "s3cr3t-value"}})
	if _, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600}); err != nil {
		t.Fatal(err)
	}
	m.occupy()
	m.wantCall("1", "add")
	lost := make(chan error, 1)
	go func() {
		_, err := m.client.Processes().Run(ctx, protocol.ProcessSpec{ID: "p-lost", Shell: "echo begun; exec sleep 1000"}, nil, nil, nil)
		lost <- err
	}()
	testkit.EventuallyNil(t, "the command to run", func() error {
		if len(marked("SEER_PROCESS=p-lost")) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	before := marked("SEER_MACHINE=" + m.boot.Machine)
	if err := syscall.Kill(m.runtimePid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The next call sees only a pause: same token, same secrets, the same worker.
	testkit.EventuallyNil(t, "the service to come back", func() error {
		if got, err := m.call("leak"); err != nil || got != `"[secret TOKEN]"` {
			return fmt.Errorf("%s %v", got, err)
		}
		return nil
	})
	m.wantCall("2", "add")
	if h, err := m.client.Health(ctx); err != nil || h.Lease.Kind != protocol.LeaseDetached || h.Services["tools"] != protocol.ServiceReady {
		t.Errorf("%+v %v", h, err)
	}
	if err := <-lost; err == nil || !strings.Contains(err.Error(), "started again") {
		t.Errorf("the command that was running: %v", err)
	}
	for _, line := range before {
		if pid, _, _ := strings.Cut(line, " "); isMarked(m, pid) && !strings.Contains(line, "fake_worker.py") {
			t.Errorf("survived its runtime: %s", line)
		}
	}
}

func isMarked(m *machine, pid string) bool {
	for _, line := range marked("SEER_MACHINE=" + m.boot.Machine) {
		if strings.HasPrefix(line, pid+" ") {
			return true
		}
	}
	return false
}

func TestRuntimeKeepsDying(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	ctx := testContext(t)
	go m.client.Boot(ctx, client.BootOptions{Binary: func(string, string) (string, error) { return exec.LookPath("false") }})
	if code := m.ended(); code != 1 || !strings.Contains(m.log.String(), "died 6 times in a minute, last with 1") {
		t.Errorf("exit %d, log %s", code, m.log)
	}
}

// TestPIDNamespace runs the loader as PID 1, as a container does.
func TestPIDNamespace(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("this system lets nobody make a PID namespace: %v", err)
	}
	m := startIn(t, []string{"unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"}, nil)
	m.push()
	m.mustServe("tools", counter)
	// Orphans without any mark are reaped, and ended in the end.
	m.shell(`for i in 1 2 3; do env -i PATH="$PATH" setsid sh -c 'sleep 0.01 &' ; done; env -i PATH="$PATH" setsid sleep 1000 > /dev/null 2>&1 &`)
	testkit.EventuallyNil(t, "orphans to be reaped", func() error {
		out := m.shell(`for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || { read name < $p/comm && echo $name; } 2>/dev/null; done`)
		if names := strings.Fields(out); len(names) != 4 || !slices.Contains(names, "sleep") { // and loader, runtime, worker
			return errors.New(out)
		}
		return nil
	})
	if out := m.shell("cat /proc/1/cmdline | tr '\\0' ' '"); !strings.Contains(out, "loader") && !strings.Contains(out, "-I -S -c") {
		t.Errorf("PID 1 is %q", out)
	}
	if f := m.freeze(testContext(t)); f.Frozen.Frozen != 2 { // the worker and the orphan
		t.Errorf("%+v", f)
	} else if out := m.whileFrozen("/proc"); strings.Count(out, "sleep T") != 1 {
		t.Errorf("the processes are %q", out)
	} else if err := f.Thaw(testContext(t)); err != nil {
		t.Error(err)
	}
	if err := m.client.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d: %s", code, m.log)
	}
}

// TestNoSpace gives the machine a disk of one megabyte.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=1m none "$0" && exec "$@"`}
	if err := exec.Command(wrap[0], append(wrap[1:], t.TempDir(), "true")...).Run(); err != nil {
		t.Skipf("this system lets nobody mount: %v", err)
	}
	m := startIn(t, nil, func(m *machine) { m.wrap = append(wrap, m.boot.Roots["/workspace"]) })
	m.push()
	ctx := testContext(t)
	big := strings.Repeat("x", 2<<20)
	if err := m.client.Files().Write(ctx, "/workspace/f", strings.NewReader(big), 0o644); protocol.CodeOf(err) != protocol.NoSpace {
		t.Errorf("a file: %v", err)
	}
	local := t.TempDir()
	writeFile(t, filepath.Join(local, "f"), big)
	if err := m.client.Files().Upload(ctx, local, "/workspace/tree"); protocol.CodeOf(err) != protocol.NoSpace {
		t.Errorf("a tree: %v", err)
	}
	if list, err := m.client.Files().List(ctx, "/workspace"); err != nil || len(list) > 1 {
		t.Errorf("left behind: %+v %v", list, err)
	}
}

// TestNoSpaceForOutput fills the disk that holds the runtime's own files.
func TestNoSpaceForOutput(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=1m none "$0" && exec "$@"`}
	if err := exec.Command(wrap[0], append(wrap[1:], t.TempDir(), "true")...).Run(); err != nil {
		t.Skipf("this system lets nobody mount: %v", err)
	}
	m := startIn(t, nil, func(m *machine) {
		m.boot.Scratch = filepath.Join(m.dir, "small")
		mustMkdir(t, m.boot.Scratch)
		m.wrap = append(wrap, m.boot.Scratch)
	})
	m.push()
	var out countWriter
	var errOut bytes.Buffer
	p, err := m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Shell: "head -c 3000000 /dev/zero; exit 5"}, nil, &out, &errOut)
	if err != nil || p.ExitCode != 5 || !strings.Contains(errOut.String(), "no space left") || out.n == 0 {
		t.Errorf("%+v %v %d %q", p, err, out.n, errOut.String())
	}
}
