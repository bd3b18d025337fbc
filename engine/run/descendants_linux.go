package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ask tells the agent's processes to end. They are asked themselves, because the
// sandboxing program above them would end at once and take them along.
func ask(pid int) {
	asked := false
	for _, p := range descendants(pid) {
		if p.name != "bwrap" {
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
			asked = true
		}
	}
	if !asked {
		_ = syscall.Kill(-pid, syscall.SIGTERM)
	}
}

// endMarked kills every process that has the variable, again and again until there
// is none, as one may be forking meanwhile.
func endMarked(variable string) {
	for range 200 {
		found := false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range environs {
			data, err := os.ReadFile(file)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil || pid == os.Getpid() || !slices.Contains(strings.Split(string(data), "\x00"), variable) {
				continue
			}
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type process struct {
	pid, parent int
	name        string
}

// descendants are a process and everything below it.
func descendants(pid int) []process {
	entries, _ := os.ReadDir("/proc")
	children := map[int][]process{}
	var found []process
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, ok := readStat(id)
		if !ok {
			continue
		}
		children[p.parent] = append(children[p.parent], p)
		if id == pid {
			found = append(found, p)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// readStat reads the name, which is in brackets and may hold anything, and the
// parent that follows it.
func readStat(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 2 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, name: string(data[open+1 : end])}, err == nil
}
