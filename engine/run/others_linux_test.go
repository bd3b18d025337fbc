package run_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

const openingAgent = `
import os
os.umask(0)
os.makedirs(".git/refs", exist_ok=True)
open(".git/refs/own", "w").write("x")
for folder, _, files in os.walk("."):
    os.chmod(folder, 0o777)
    for file in files:
        os.chmod(os.path.join(folder, file), 0o666)
`

// TestAttacksOnOtherUsersBehalf: an agent opens its workspace to an accomplice, another
// user of this computer.
func TestAttacksOnOtherUsersBehalf(t *testing.T) {
	t.Parallel()
	open := func(kind string) func(*testing.T, bool) error {
		return func(t *testing.T, defended bool) error { return opened(t, kind, defended) }
	}
	rows := []attack.Row{
		{Name: "agent-opens-workspace-to-others", Isolation: "bubblewrap", Want: "ermission denied", Try: open(isolation.Bubblewrap)},
		{Name: "agent-opens-workspace-to-others", Isolation: "gvisor", Want: "ermission denied", Try: open(isolation.GVisor)},
	}
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		rows = rows[:1]
	}
	attack.Run(t, rows)
}

func opened(t *testing.T, kind string, defended bool) error {
	t.Helper()
	e, exp := setup(t, openingAgent, "")
	exp.Agent.Isolation = kind
	space := exp.Workspace.Dir
	for _, name := range []string{".git/config", ".git/HEAD", ".git/refs/mine"} {
		testkit.WriteFiles(t, filepath.Dir(filepath.Join(space, name)), map[string]string{filepath.Base(name): "ref: refs/heads/main\n"})
	}
	for dir := filepath.Dir(space); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := run.Options{}
	if !defended {
		o = run.Unguarded(o)
	}
	var mu sync.Mutex
	var said strings.Builder
	o.Progress = func(ev engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(eventtext.Sentence(ev) + "\n")
	}
	if result, err := run.Run(t.Context(), e, exp, o); err != nil || result.ExitCode != 0 {
		t.Fatalf("%+v, %v\n%s", result, err, &said)
	}
	if !strings.Contains(said.String(), "other users of this computer can reach the workspace") || strings.Contains(said.String(), "they are closed now") != defended {
		t.Errorf("it said:\n%s", &said)
	}
	return accomplice(space, "agent.py", ".git/config", ".git/new", ".git/refs/mine", ".git/refs/own")
}

// accomplice writes into each file as another user, and succeeds with one; without root,
// it looks whether that would work.
func accomplice(dir string, names ...string) error {
	var refused error
	for _, name := range names {
		err := writeAsOther(filepath.Join(dir, name))
		if err == nil {
			return nil
		}
		refused = errors.Join(refused, err)
	}
	return refused
}

func writeAsOther(path string) error {
	if os.Geteuid() == 0 {
		cmd := exec.Command("/bin/sh", "-c", `echo evil >> "$0"`, path)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return errors.New(string(out))
		}
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(path))
	}
	if err == nil && info.Mode()&0o002 == 0 {
		return os.ErrPermission
	}
	return err
}
