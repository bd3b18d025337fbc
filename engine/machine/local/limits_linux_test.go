package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// TestLimits: they are kept, or the log says that they are not.
func TestLimits(t *testing.T) {
	for _, kind := range []string{isolation.Bubblewrap, isolation.None} {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.spec("limits", kind)
			spec.MemoryGB, spec.CPU = 0.25, 0.5
			b := pl.up(spec)
			n, err := pl.p.folder(b.handle).read()
			if err != nil {
				t.Fatal(err)
			}
			if n.Limits == nil {
				if !strings.Contains(strings.Join(b.log, "\n"), "cpu and memory_gb are not limited: ") {
					t.Errorf("nobody is told: %q", b.log)
				}
				return
			}
			got := b.run(`
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "x = bytearray(64 << 20); print(len(x))"], capture_output=True, text=True).stdout.strip())
print(subprocess.run([sys.executable, "-c", "x = bytearray(1 << 30); x[::4096] = b'x' * (1 << 18); print(len(x))"], capture_output=True, text=True).returncode)`)
			if got != "67108864\n-9" {
				t.Errorf("1 GiB of 256 MiB: %s", got)
			}
			for _, pid := range processesWith(pl.base + "#limits") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if o := pl.await(b.handle, sdk.Failed); !strings.HasPrefix(o.Message, MemoryFull) {
				t.Errorf("it died after that: %+v", o)
			}
			b.down()
			for _, dir := range append([]string{n.Limits.Unified}, n.Limits.Folders["memory"], n.Limits.Folders["cpu"]) {
				if _, err := os.Stat(dir); dir != "" && err == nil {
					t.Errorf("%s is left", dir)
				}
			}
			if own, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(own), "seer-") {
				t.Errorf("this process is in the group: %s", own)
			}
		})
	}
}

func TestWhoseMemoryWasFull(t *testing.T) {
	v1 := func(killed, most int) map[string]string {
		return map[string]string{
			"memory.oom_control":        fmt.Sprintf("under_oom 0\noom_kill %d\n", killed),
			"memory.max_usage_in_bytes": fmt.Sprintln(most), "memory.limit_in_bytes": fmt.Sprintln(512 << 20),
		}
	}
	for what, c := range map[string]struct {
		files map[string]string
		two   bool
		want  bool
	}{
		"version 1":               {v1(2, 536866816), false, true},
		"version 1, the computer": {v1(1, 60<<20), false, false},
		"version 1, none killed":  {v1(0, 512<<20), false, false},
		"version 2":               {map[string]string{"memory.events": "low 0\nmax 9\noom 1\noom_kill 1\n"}, true, true},
		"version 2, the computer": {map[string]string{"memory.events": "max 0\noom 0\noom_kill 1\n"}, true, false},
		"gone":                    {nil, true, false},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l := &limits{Folders: map[string]string{"memory": dir}}
		if c.two {
			l = &limits{Unified: dir}
		}
		if l.full() != c.want {
			t.Errorf("%s: %v", what, l.full())
		}
	}
	if (&limits{Folders: map[string]string{"cpu": t.TempDir()}}).full() || (*limits)(nil).full() {
		t.Error("memory that has no limit was full")
	}
}

func TestWhereLimitsAre(t *testing.T) {
	both := &sdk.MachineSpec{MemoryGB: 1, CPU: 1}
	root := t.TempDir()
	for _, dir := range []string{"memory/a", "cpu", "user.slice/session"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "user.slice", "cgroup.subtree_control"), []byte("cpu memory pids\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one, err := limitsFor("h", both, root, []byte("4:memory:/a\n2:cpu,cpuacct:/hidden\n0::/\n"))
	if err != nil || one.Folders["memory"] != root+"/memory/a/seer-h" || one.Folders["cpu"] != root+"/cpu/seer-h" || one.Unified != "" {
		t.Errorf("version 1: %+v, %v", one, err)
	}
	two, err := limitsFor("h", both, root, []byte("0::/user.slice/session\n"))
	if err != nil || two.Unified != root+"/user.slice/seer-h" {
		t.Errorf("version 2: %+v, %v", two, err)
	}
	for _, own := range []string{"", "0::/\n", "4:memory:/a\n", "::\nx"} {
		if l, err := limitsFor("h", both, root, []byte(own)); err == nil {
			t.Errorf("%q: %+v", own, l)
		}
	}
	if l, err := limitsFor("h", &sdk.MachineSpec{}, root, nil); l != nil || err != nil {
		t.Errorf("none wanted: %+v, %v", l, err)
	}
}
