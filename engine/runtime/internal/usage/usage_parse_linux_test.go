package usage

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// wantUse checks the figures of a group without a limit of memory.
func wantUse(t *testing.T, g group, memory, peak int64, cpus, seconds float64) {
	t.Helper()
	used, _ := g.memory()
	worked, _ := g.cpuSeconds()
	if used != memory || g.memoryPeak() != peak || g.memoryLimit() != 0 || g.cpus() != cpus || worked != seconds {
		t.Errorf("%+v: %d %d %d %v %v", g, used, g.memoryPeak(), g.memoryLimit(), g.cpus(), worked)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	t.Run("version 2", func(t *testing.T) {
		root := testkit.WriteFiles(t, t.TempDir(), map[string]string{
			"list":                                   "0::/box\n",
			"sys/fs/cgroup/box/cgroup.controllers":   "cpu memory\n",
			"sys/fs/cgroup/box/cgroup.procs":         "10\n",
			"sys/fs/cgroup/box/below/cgroup.procs":   "11\n12\n",
			"sys/fs/cgroup/box/memory.current":       "1000\n",
			"sys/fs/cgroup/box/memory.peak":          "3000\n",
			"sys/fs/cgroup/box/memory.max":           "max\n",
			"sys/fs/cgroup/box/cpu.max":              "150000 100000\n",
			"sys/fs/cgroup/box/cpu.stat":             "usage_usec 2500000\nuser_usec 1\n",
			"sys/fs/cgroup/cgroup.procs":             "1\n",
			"sys/fs/cgroup/other/memory.current":     "7\n",
			"sys/fs/cgroup/other/cgroup.controllers": "",
		})
		g := findGroup(root, filepath.Join(root, "list"))
		wantUse(t, g, 1000, 3000, 1.5, 2.5)
		if !g.holdsOnly(map[int]bool{10: true, 11: true, 12: true, 13: true}) {
			t.Error("a group of the machine alone")
		}
		if g.holdsOnly(map[int]bool{10: true, 11: true}) {
			t.Error("a group with a process of others")
		}
	})
	t.Run("version 1", func(t *testing.T) {
		v1 := "sys/fs/cgroup/memory/"
		root := testkit.WriteFiles(t, t.TempDir(), map[string]string{
			"list":                                "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n",
			v1 + "cgroup.procs":                   "0\n", // of what cannot be seen
			v1 + "memory.usage_in_bytes":          "2000\n",
			v1 + "memory.max_usage_in_bytes":      "2500\n",
			v1 + "memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/cpu/cgroup.procs":      "",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpuacct/cgroup.procs":  "",
			"sys/fs/cgroup/cpuacct/cpuacct.usage": "1500000000\n",
		})
		g := findGroup(root, filepath.Join(root, "list"))
		wantUse(t, g, 2000, 2500, 0, 1.5)
		if g.holdsOnly(map[int]bool{1: true}) {
			t.Error("a group with a process that cannot be seen")
		}
	})
	for name, list := range map[string]string{"none": "", "odd": "::\nx\n1:memory\n0::relative\n", "elsewhere": "0::/../../etc\n4:memory:/../..\n"} {
		root := testkit.WriteFiles(t, t.TempDir(), map[string]string{"list": list, "etc/cgroup.procs": "1", "etc/cgroup.controllers": "", "etc/memory.current": "5"})
		g := findGroup(root, filepath.Join(root, "list"))
		if _, ok := g.memory(); ok || g.cpus() != 0 || g.holdsOnly(map[int]bool{1: true}) {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestParseLoad(t *testing.T) {
	t.Parallel()
	if got := parseLoad("0.52 1.00 2.5 3/400 1234\n"); len(got) != 3 || got[2] != 2.5 {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"", "1 2", "a b c d", "NaN 1 1 1", "-1 0 0 0"} {
		if got := parseLoad(bad); got != nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func FuzzGPUs(f *testing.F) {
	f.Add("0, NVIDIA H200, 0, 33, 4, 143771\n")
	f.Add("0, a, b, [N/A], ERR!, [N/A], [N/A]\n1, x, 1e3, 5, -1, 0\n, , , , , \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range parseGPUs(text) {
			if g.Index < 0 || g.Name == "" || strings.Contains(g.Name, "\n") || !(g.Utilization >= 0 && g.Utilization <= 100) || g.MemoryBytes < 0 || g.MemoryTotal < 0 {
				t.Errorf("%q became %+v", text, g)
			}
		}
	})
}
