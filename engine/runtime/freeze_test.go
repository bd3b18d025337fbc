package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// counting is a tree of processes that all write: a shell with a child in another session.
const counting = `setsid sh -c 'while :; do echo x >> daemon; done' & while :; do echo x >> front; done`

// grows waits a moment and reports whether the files have grown meanwhile.
func (m *machine) grows(names ...string) map[string]bool {
	m.t.Helper()
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(m.boot.Roots["/workspace"], name))
		if err != nil {
			return -1
		}
		return info.Size()
	}
	before := map[string]int64{}
	for _, name := range names {
		before[name] = size(name)
	}
	time.Sleep(300 * time.Millisecond)
	grown := map[string]bool{}
	for _, name := range names {
		grown[name] = size(name) > before[name]
	}
	return grown
}

func (m *machine) goesOn(names ...string) {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "everything to go on", func() error {
		for name, grown := range m.grows(names...) {
			if !grown {
				return errors.New(name + " stands still")
			}
		}
		return nil
	})
}

func (m *machine) standsStill(names ...string) {
	m.t.Helper()
	for name, grown := range m.grows(names...) {
		if grown {
			m.t.Errorf("%s is still written to", name)
		}
	}
}

// freeze freezes the machine, again where the computer is too slow for a process to stop
// within the patience of the runtime.
func (m *machine) freeze(ctx context.Context) *client.Freeze {
	m.t.Helper()
	var frozen *client.Freeze
	testkit.EventuallyNil(m.t, "every process to stand still", func() error {
		f, err := m.client.Freeze(ctx)
		if err != nil {
			return err
		}
		if len(f.NotFrozen) > 0 {
			return fmt.Errorf("%+v %v", f.NotFrozen, f.Thaw(ctx))
		}
		frozen = f
		return nil
	})
	if frozen == nil {
		m.t.FailNow()
	}
	return frozen
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.mustServe("tools", counter)
	for _, spec := range []protocol.ProcessSpec{
		{Background: true, Shell: counting},
		{ID: "p-paused", Background: true, Shell: "kill -STOP $$; echo x >> paused"}, // stands still by itself
		{ID: "p-shell", Background: true, Stdin: true, PTY: &protocol.PTY{}, Argv: []string{"bash", "--norc", "-i", "-c", "set -m; while :; do echo x >> job; /bin/true; done"}},
	} {
		if _, err := m.client.Processes().Start(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	m.goesOn("daemon", "front", "job")
	f := m.freeze(ctx)
	if f.Frozen.Frozen < 4 {
		t.Fatalf("%+v", f)
	}
	m.standsStill("daemon", "front", "job")
	if _, err := m.client.Freeze(ctx); protocol.CodeOf(err) != protocol.Conflict {
		t.Errorf("frozen twice: %v", err)
	}
	// What changes files waits, what looks does not.
	wrote := make(chan error, 2)
	go func() { wrote <- m.client.Files().Write(ctx, "/workspace/late", strings.NewReader("x"), 0o644) }()
	go func() {
		_, err := m.client.Processes().Run(ctx, protocol.ProcessSpec{Shell: "echo x > later"}, nil, nil, nil)
		wrote <- err
	}()
	called := make(chan error, 1)
	go func() {
		got, err := m.call("add")
		if err == nil && got != "1" {
			err = errors.New(got)
		}
		called <- err
	}()
	if u, err := m.client.Usage(ctx); err != nil || u.Processes == 0 {
		t.Errorf("%+v %v", u, err)
	}
	select {
	case err := <-wrote:
		t.Errorf("a file was written: %v", err)
	case err := <-called:
		t.Errorf("a call has ended: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	for _, name := range []string{"late", "later"} {
		if _, err := m.client.Files().Stat(ctx, "/workspace/"+name); protocol.CodeOf(err) != protocol.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Thaw(ctx); err != nil {
		t.Error(err)
	}
	m.goesOn("daemon", "front", "job")
	for range 2 {
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	}
	if err := <-called; err != nil {
		t.Error(err)
	}
	if e, err := m.client.Files().Stat(ctx, "/workspace/paused"); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("what had been stopped before goes on: %+v %v", e, err)
	}
	if err := f.Thaw(ctx); protocol.CodeOf(err) != protocol.Conflict {
		t.Errorf("thawed twice: %v", err)
	}
}

// TestFreezeEnds without a word: the client goes, or the runtime dies.
func TestFreezeEnds(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.mustServe("tools", counter)
	if _, err := m.client.Processes().Start(ctx, protocol.ProcessSpec{Background: true, Shell: counting}); err != nil {
		t.Fatal(err)
	}
	m.goesOn("daemon", "front")
	gone, leave := context.WithCancel(ctx)
	m.freeze(gone)
	m.standsStill("daemon", "front")
	leave()
	m.goesOn("daemon", "front")
	for range 2 { // one as soon as the other is over
		f, err := m.client.Freeze(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Thaw(ctx); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.client.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
	m.killRuntime()
	testkit.EventuallyNil(t, "the service to answer again", func() error {
		got, err := m.call("add")
		if err == nil && got != "1" {
			err = errors.New(got)
		}
		return err
	})
}

// TestFreezeWaitsForFiles that are being written, for a while.
func TestFreezeWaitsForFiles(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	for tries := 1; ; tries++ {
		err := m.freezeUnderAFile(testContext(t))
		if err == nil {
			return
		}
		if protocol.CodeOf(err) != protocol.Conflict || tries == 5 { // for the runtime waits only so long
			t.Fatal(err)
		}
	}
}

// freezeUnderAFile freezes the machine while a file is on its way.
func (m *machine) freezeUnderAFile(ctx context.Context) error {
	t := m.t
	t.Helper()
	slow, send, err := os.Pipe()
	if err != nil {
		return err
	}
	defer slow.Close()
	written := make(chan error, 1)
	go func() { written <- m.client.Files().Write(ctx, "/workspace/slow", slow, 0o644) }()
	if _, err := send.WriteString("first "); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the file to be on its way", func() error {
		if left, _ := filepath.Glob(filepath.Join(m.boot.Roots["/workspace"], ".seer-*")); len(left) == 0 {
			return fmt.Errorf("nothing is there")
		}
		return nil
	})
	time.AfterFunc(300*time.Millisecond, func() {
		_, _ = send.WriteString("second")
		send.Close()
	})
	f, err := m.client.Freeze(ctx)
	if err != nil {
		return errors.Join(err, <-written)
	}
	if data, err := os.ReadFile(filepath.Join(m.boot.Roots["/workspace"], "slow")); string(data) != "first second" {
		t.Errorf("frozen with %q %v", data, err)
	}
	return errors.Join(f.Thaw(ctx), <-written)
}

// whileFrozen lists the processes of a machine and their states by its files alone.
func (m *machine) whileFrozen(proc string) string {
	m.t.Helper()
	list, err := m.client.Files().List(testContext(m.t), proc)
	if err != nil {
		m.t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		if strings.Trim(e.Name, "0123456789") != "" {
			continue
		}
		var stat bytes.Buffer
		if _, err := m.client.Files().Read(testContext(m.t), proc+"/"+e.Name+"/status", &stat); err != nil {
			continue
		}
		_, rest, _ := strings.Cut(stat.String(), "Name:\t")
		name, rest, _ := strings.Cut(rest, "\n")
		_, state, _ := strings.Cut(rest, "State:\t")
		all = append(all, name+" "+state[:min(1, len(state))])
	}
	return strings.Join(all, ", ")
}

// TestInBubblewrap has terminals and freezing work where most sandboxes run.
func TestInBubblewrap(t *testing.T) {
	t.Parallel()
	if err := exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true").Run(); err != nil {
		t.Fatalf("this test needs bubblewrap: %v", err)
	}
	m := startIn(t, []string{"bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--die-with-parent"}, nil)
	m.push()
	x := m.terminal(t, protocol.ProcessSpec{Argv: []string{"bash", "--norc", "-i"}, Env: map[string]string{"PS1": "ready> "}})
	x.expect("ready> ")
	x.send("tty; echo ended-$((1+1))\n") // by the shell, after the program
	x.expect("/dev/pts/0")
	x.expect("ended-2")
	f := m.freeze(testContext(t))
	if f.Frozen.Frozen != 1 {
		t.Fatalf("%+v", f)
	}
	if err := f.Thaw(testContext(t)); err != nil {
		t.Error(err)
	}
	x.send("exit 3\n")
	if p := x.ended(); p.ExitCode != 3 {
		t.Errorf("%+v", p)
	}
}
