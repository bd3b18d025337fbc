package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// memoryGroup is a group for memory of version 1 or 2 with these files.
func memoryGroup(t *testing.T, files map[string]string, two bool) *Group {
	t.Helper()
	dir := testkit.WriteFiles(t, t.TempDir(), files)
	if two {
		return &Group{Unified: dir}
	}
	return &Group{Folders: map[string]string{"memory": dir}}
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
		if full := memoryGroup(t, c.files, c.two).Full(); full != c.want {
			t.Errorf("%s: %v", what, full)
		}
	}
	if (&Group{Folders: map[string]string{"cpu": t.TempDir()}}).Full() || (*Group)(nil).Full() {
		t.Error("memory that has no limit was full")
	}
}

func TestWhereGroupsAre(t *testing.T) {
	all := []string{"memory", "cpu", "pids"}
	root := t.TempDir()
	for _, dir := range []string{"memory/a", "cpu", "pids", "user.slice/session"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "user.slice", "cgroup.subtree_control"), []byte("cpu memory pids\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one, warning := find("h", all, root, "4:memory:/a\n2:cpu,cpuacct:/hidden\n3:pids:/\n0::/\n")
	if warning != "" || one.Folders["memory"] != root+"/memory/a/h" || one.Folders["cpu"] != root+"/cpu/h" || one.Folders["pids"] != root+"/pids/h" {
		t.Errorf("version 1: %+v, %v", one, warning)
	}
	two, warning := find("h", all, root, "0::/user.slice/session\n")
	if warning != "" || two.Unified != root+"/user.slice/h" {
		t.Errorf("version 2: %+v, %v", two, warning)
	}
	some, warning := find("h", all, root, "4:memory:/a\n")
	if !strings.HasPrefix(warning, "cpu and the number of processes are not limited: ") || len(some.Folders) != 1 {
		t.Errorf("only memory: %+v, %v", some, warning)
	}
	for _, own := range []string{"", "0::/\n", "::\nx"} {
		if g, warning := find("h", all, root, own); g != nil || !strings.HasPrefix(warning, "memory and cpu and ") {
			t.Errorf("%q: %+v, %v", own, g, warning)
		}
	}
	if g, warning := find("h", nil, root, ""); g != nil || warning != "" {
		t.Errorf("none wanted: %+v, %v", g, warning)
	}
}

func TestUnifiedWithSomeControllers(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "user/session"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "user", "cgroup.subtree_control"), []byte("memory pids\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	g, warning := find("h", []string{"memory", "cpu"}, root, "0::/user/session\n")
	if g == nil || g.Unified != root+"/user/h" || !strings.HasPrefix(warning, "cpu is not limited: ") {
		t.Fatalf("%+v, %q", g, warning)
	}
	if err := g.Make(Limits{Memory: 1 << 20, CPU: 1}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(g.Unified, "memory.max")); err != nil || string(data) != "1048576" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(g.Unified, "cpu.max")); err == nil {
		t.Error("a controller that is not there was set")
	}
}

func TestSweep(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("seer-agent-%d-left", ended.Process.Pid)
	mine := fmt.Sprintf("seer-agent-%d-mine", os.Getpid())
	root := t.TempDir()
	for _, name := range []string{left, mine, "seer-agent-x", "other"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	(&Group{Unified: filepath.Join(root, mine)}).Sweep("seer-agent-")
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v are there, %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(root, left)); err == nil {
		t.Error("the group of a program that has ended is still there")
	}
}

func TestMemoryLeft(t *testing.T) {
	const stat = "anon 3\nactive_file 20\ninactive_file 5\n"
	for what, c := range map[string]struct {
		files   map[string]string
		two     bool
		want    int64
		limited bool
	}{
		"version 1":            {map[string]string{"memory.limit_in_bytes": "100\n", "memory.usage_in_bytes": "60\n", "memory.stat": stat}, false, 65, true},
		"version 2":            {map[string]string{"memory.max": "100\n", "memory.current": "60\n", "memory.stat": stat}, true, 65, true},
		"version 2, unlimited": {map[string]string{"memory.max": "max\n", "memory.current": "60\n", "memory.stat": stat}, true, 0, false},
		"gone":                 {nil, true, 0, false},
	} {
		if left, limited := memoryGroup(t, c.files, c.two).MemoryLeft(); left != c.want || limited != c.limited {
			t.Errorf("%s: %d, %v", what, left, limited)
		}
	}
	if _, limited := (*Group)(nil).MemoryLeft(); limited {
		t.Error("a limit without a group")
	}
}
