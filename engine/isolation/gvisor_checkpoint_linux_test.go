package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// keeper has a secret in its memory and writes it down when it is asked. It takes a
// new one for each question, so that one can tell a process from its past.
const keeper = `
import os, sys, time
count, data = 0, bytearray(os.urandom(1 << 20)) * 8
open("/opt/on-the-tree", "w").write("kept") if os.access("/opt", os.W_OK) else None
print("ready", flush=True)
while True:
    if os.path.exists("/workspace/ask"):
        count += 1
        os.unlink("/workspace/ask")
        tree = open("/opt/on-the-tree").read() if os.path.exists("/opt/on-the-tree") else "none"
        with open("/workspace/answer.new", "w") as f:
            f.write("%d %d %s" % (count, hash(bytes(data)), tree))
        os.rename("/workspace/answer.new", "/workspace/answer")
    time.sleep(0.01)
`

func ask(t *testing.T, work string) string {
	t.Helper()
	answer := filepath.Join(work, "answer")
	if err := os.WriteFile(filepath.Join(work, "ask"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return waitForFile(t, answer)
}

// waitForFile returns the contents of a file as soon as it is there, and removes it.
func waitForFile(t *testing.T, path string) (text string) {
	t.Helper()
	testkit.EventuallyNil(t, path, func() error {
		data, err := os.ReadFile(path)
		text = string(data)
		return err
	})
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	return text
}

// Saved processes go on where they were, in several sandboxes at once, while the
// first one goes on, too.
func TestGVisorCheckpoint(t *testing.T) {
	for name, root := range map[string]Root{"plain": {}, "writable": {Writable: true}} {
		t.Run(name, func(t *testing.T) { checkpointOf(t, root) })
	}
}

func checkpointOf(t *testing.T, root Root) {
	spec := func() (Spec, string) {
		work := t.TempDir()
		return Spec{
			Root: root, Env: map[string]string{"PATH": "/usr/bin:/bin"}, Dir: "/workspace",
			Mounts: []sdk.Mount{{Source: work, Target: "/workspace", Writable: true}},
		}, work
	}
	first, work := spec()
	b := start(t, GVisor, first, "mkdir -p /opt 2>/dev/null; exec python3 -c '"+keeper+"'")
	one := ask(t, work)
	saved := t.TempDir()
	if err := Checkpoint(t.Context(), b.state, saved, true); err != nil {
		t.Fatal(err)
	}
	two := ask(t, work)
	rest := func(s, count string) string {
		t.Helper()
		left, ok := strings.CutPrefix(s, count+" ")
		if !ok {
			t.Errorf("%q is not answer %s", s, count)
		}
		return left
	}
	if rest(one, "1") != rest(two, "2") {
		t.Errorf("%q, then %q", one, two)
	}
	for range 2 {
		again, work := spec()
		again.RestoreFrom = saved
		run(t, again)
		if got := ask(t, work); rest(got, "2") != rest(one, "1") {
			t.Errorf("restored: %q, before: %q", got, one)
		}
	}
	if err := Checkpoint(t.Context(), b.state, saved, true); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("into a folder that is used: %v", err)
	}
	last := t.TempDir()
	if err := Checkpoint(t.Context(), b.state, last, false); err != nil {
		t.Error(err)
	}
	if err := b.cmd.Wait(); err == nil {
		t.Log("it ended without an error")
	}
}

// run starts a sandbox that goes on with saved processes.
func run(t *testing.T, spec Spec) {
	t.Helper()
	spec.Argv = []string{"/bin/sh", "-c", "mkdir -p /opt 2>/dev/null; exec python3 -c '" + keeper + "'"}
	cmd, err := prepare(t, GVisor, spec)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
}

// A socket that leads outside is a reason to refuse, and no reason to end. After it
// has been closed and made anew, all goes on.
func TestGVisorCheckpointWithASocket(t *testing.T) {
	work := t.TempDir()
	const server = `
import os, socket, time
def bind():
    s = socket.socket(socket.AF_UNIX); s.bind("/workspace/s"); s.listen(); return s
s = bind()
print("ready", flush=True)
while True:
    if s and os.path.exists("/workspace/park"):
        s.close(); os.unlink("/workspace/s"); s = None; open("/workspace/parked", "w").close()
    if not s and not os.path.exists("/workspace/park"):
        s = bind(); open("/workspace/back", "w").close()
    time.sleep(0.01)
`
	b := start(t, GVisor, Spec{
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, Mounts: []sdk.Mount{{Source: work, Target: "/workspace", Writable: true}},
	}, "exec python3 -c '"+server+"'")
	wait := func(name string) {
		t.Helper()
		waitForFile(t, filepath.Join(work, name))
	}
	if err := Checkpoint(t.Context(), b.state, t.TempDir(), true); sdk.CodeOf(err) != sdk.Unavailable {
		t.Errorf("with a socket: %v", err)
	}
	if err := os.WriteFile(filepath.Join(work, "park"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wait("parked")
	if err := Checkpoint(t.Context(), b.state, t.TempDir(), true); err != nil {
		t.Errorf("parked: %v", err)
	}
	if err := os.Remove(filepath.Join(work, "park")); err != nil {
		t.Fatal(err)
	}
	wait("back")
}
