package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/attack"
)

// bounded runs a Python program in an isolation, in groups with these limits.
func bounded(t *testing.T, kind, program string, l Limits, defended bool) error {
	t.Helper()
	tools, err := filepath.Abs("../../../.tools/runsc-" + isolation.RunscBuild)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := isolation.Command(kind, isolation.Spec{
		Argv: []string{"/usr/bin/python3", "-c", program}, State: t.TempDir(), Places: []string{tools}, DieWithParent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer isolation.Release(cmd)
	var group *Group
	if defended {
		var warning string
		if group, warning = New(fmt.Sprintf("seer-test-%d", time.Now().UnixNano()), l); warning != "" {
			t.Skip("these groups need rights that this user lacks: " + warning)
		}
		defer func() {
			if err := group.RemoveWithin(10 * time.Second); err != nil {
				t.Error(err)
			}
		}()
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 5*time.Second
	var exit *exec.ExitError
	if err := isolation.Thread(kind, func() error {
		if err := group.Start(cmd); err != nil {
			return err
		}
		if err := cmd.Wait(); !errors.As(err, &exit) {
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "done") {
		return nil
	}
	return fmt.Errorf("refused: %s %v", out.String(), exit)
}

// Some processes or bytes more than the limit, and no more: without the defence they
// would take all of this computer.
const (
	manyProcesses = "import os, time\nfor _ in range(400):\n    if os.fork() == 0: time.sleep(60); os._exit(0)\nprint('done', flush=True); os.kill(-1, 9)"
	muchMemory    = "x = bytearray(700 << 20)\nx[::4096] = b'x' * (700 << 8)\nprint('done')"
	muchTmpfs     = "f = open('/dev/shm/x', 'wb')\nfor _ in range(700): f.write(bytes(1 << 20))\nf.flush(); print('done')"
)

func bomb(kind, program string, l Limits) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error { return bounded(t, kind, program, l, defended) }
}

func TestAttacksOnLimits(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs control groups")
	}
	attack.Run(t, []attack.Row{
		{Name: "fork-bomb", Isolation: isolation.Bubblewrap, Want: "refused", Try: bomb(isolation.Bubblewrap, manyProcesses, Limits{Processes: 200})},
		{Name: "memory-bomb", Isolation: isolation.Bubblewrap, Want: "refused", Try: bomb(isolation.Bubblewrap, muchMemory, Limits{Memory: 256 << 20})},
		{Name: "memory-bomb-in-tmpfs", Isolation: isolation.Bubblewrap, Want: "refused", Try: bomb(isolation.Bubblewrap, muchTmpfs, Limits{Memory: 256 << 20})},
		{Name: "fork-bomb-gvisor", Isolation: isolation.GVisor, Want: "refused", Try: bomb(isolation.GVisor, manyProcesses, Limits{Processes: 300})},
		{Name: "memory-bomb-gvisor", Isolation: isolation.GVisor, Want: "refused", Try: bomb(isolation.GVisor, muchMemory, Limits{Memory: 400 << 20})},
	})
}
