package usage

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
)

// clockTicks is the unit of times in /proc/PID/stat: the kernel's USER_HZ, which is 100
// everywhere that we run.
const clockTicks = 100

// systemUsage fills in processors, memory and processes: from the control group where the
// machine has one to itself, otherwise as the sum of its processes.
func systemUsage(env *environment.Env, u *protocol.Usage) {
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		u.Load = parseLoad(string(data))
	}
	var pids map[int]bool
	if t, err := proc.Read(); err == nil {
		pids = t.Machine(env.TopPID(), env.Cookie())
	}
	u.Processes = len(pids)
	for pid := range pids {
		seconds, resident := processUsage(pid)
		u.CPUSeconds += seconds
		u.MemoryBytes += resident
	}
	group := findGroup("/", "/proc/self/cgroup")
	if count := group.cpus(); count > 0 {
		u.CPUCount = min(u.CPUCount, count)
	}
	u.MemoryLimit = totalMemory("/proc/meminfo")
	if limit := group.memoryLimit(); limit > 0 && (u.MemoryLimit == 0 || limit < u.MemoryLimit) {
		u.MemoryLimit = limit
	}
	if !group.holdsOnly(pids) {
		return
	}
	if n, ok := group.memory(); ok {
		u.MemoryBytes, u.MemoryPeak = n, group.memoryPeak()
	}
	if n, ok := group.cpuSeconds(); ok {
		u.CPUSeconds = n
	}
}

// processUsage is the processor time of a process and of its children that have ended, and
// its resident memory.
func processUsage(pid int) (seconds float64, resident int64) {
	dir := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) > 14 {
		for _, f := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(string(f), 10, 64)
			seconds += float64(n) / clockTicks
		}
	}
	if data, err = os.ReadFile(dir + "/statm"); err == nil {
		if fields := bytes.Fields(data); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			resident = pages * int64(os.Getpagesize())
		}
	}
	return seconds, resident
}

// parseLoad reads the three averages of /proc/loadavg; nil where there are none.
func parseLoad(text string) []float64 {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return nil
	}
	var load []float64
	for _, f := range fields[:3] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || !(v >= 0 && v < 1e9) {
			return nil
		}
		load = append(load, v)
	}
	return load
}

// totalMemory is MemTotal of /proc/meminfo in bytes; 0 where it does not say.
func totalMemory(path string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}
