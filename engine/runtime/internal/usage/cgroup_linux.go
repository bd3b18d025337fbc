package usage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// group is the control group of the runtime: with version 2 one folder, with version 1 one
// for each controller. A folder that is not there is empty.
type group struct {
	unified    bool
	memoryDir  string
	cpuDir     string // its quota
	cpuacctDir string // its time
}

// findGroup reads /proc/self/cgroup. Root is where the file system begins.
func findGroup(root, list string) group {
	data, err := os.ReadFile(list)
	if err != nil {
		return group{}
	}
	base := filepath.Join(root, "sys/fs/cgroup")
	var g group
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		if parts[1] == "" && g.memoryDir == "" {
			dir := groupDir(base, parts[2], "cgroup.procs")
			if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); dir != "" && err == nil {
				g = group{unified: true, memoryDir: dir, cpuDir: dir, cpuacctDir: dir}
			}
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			dir := groupDir(filepath.Join(base, controller), parts[2], "cgroup.procs")
			switch controller {
			case "memory":
				g.memoryDir, g.unified = dir, false
			case "cpu":
				g.cpuDir = dir
			case "cpuacct":
				g.cpuacctDir = dir
			}
		}
	}
	return g
}

// groupDir is the folder of a group. In a container, the name may be that of the outside,
// and the group is where the file system begins.
func groupDir(base, name, has string) string {
	for _, dir := range []string{filepath.Join(base, filepath.Clean("/"+name)), base} {
		if _, err := os.Stat(filepath.Join(dir, has)); err == nil {
			return dir
		}
	}
	return ""
}

// holdsOnly reports whether the group, and what is below it, has none but the given
// processes: only then are its figures those of the machine. Processes that cannot be
// seen from here are listed as 0.
func (g group) holdsOnly(pids map[int]bool) bool {
	if g.memoryDir == "" || len(pids) == 0 {
		return false
	}
	only := true
	err := filepath.WalkDir(g.memoryDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(data)) {
			pid, perr := strconv.Atoi(field)
			only = only && perr == nil && pids[pid]
		}
		if err == nil && !only {
			return filepath.SkipAll
		}
		return err
	})
	return only && err == nil
}

func (g group) memory() (int64, bool) {
	n := readNumber(g.memoryDir, pick(g.unified, "memory.current", "memory.usage_in_bytes"))
	return n, n > 0
}

func (g group) memoryPeak() int64 {
	return readNumber(g.memoryDir, pick(g.unified, "memory.peak", "memory.max_usage_in_bytes"))
}

// memoryLimit is 0 where there is none.
func (g group) memoryLimit() int64 {
	n := readNumber(g.memoryDir, pick(g.unified, "memory.max", "memory.limit_in_bytes"))
	if n >= 1<<62 { // how version 1 says none
		return 0
	}
	return n
}

// cpus is the quota in processors; 0 where there is none.
func (g group) cpus() float64 {
	quota, period := readNumber(g.cpuDir, "cpu.cfs_quota_us"), readNumber(g.cpuDir, "cpu.cfs_period_us")
	if g.unified {
		fields := strings.Fields(readText(g.cpuDir, "cpu.max"))
		if len(fields) != 2 {
			return 0
		}
		quota, period = parseNumber(fields[0]), parseNumber(fields[1])
	}
	if quota <= 0 || period <= 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

func (g group) cpuSeconds() (float64, bool) {
	if !g.unified {
		n := readNumber(g.cpuacctDir, "cpuacct.usage")
		return float64(n) / 1e9, n > 0
	}
	for line := range strings.Lines(readText(g.cpuDir, "cpu.stat")) {
		if rest, ok := strings.CutPrefix(line, "usage_usec "); ok {
			n := parseNumber(strings.TrimSpace(rest))
			return float64(n) / 1e6, n > 0
		}
	}
	return 0, false
}

func pick(unified bool, v2, v1 string) string {
	if unified {
		return v2
	}
	return v1
}

func readText(dir, name string) string {
	if dir == "" {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func readNumber(dir, name string) int64 { return parseNumber(readText(dir, name)) }

// parseNumber reads a whole number of at least 0; anything else, max among it, is 0.
func parseNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
