//go:build !linux

package proc

import (
	"os/exec"
	"strconv"
	"strings"
)

func waitDescriptor(int, string) bool { return false }

// Read asks ps, which every Unix has.
func Read() (Table, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,state=").Output()
	if err != nil {
		return nil, err
	}
	t := Table{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[3], "Z") {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		group, _ := strconv.Atoi(f[2])
		t[pid] = Entry{parent: parent, group: group, Stopped: strings.HasPrefix(f[3], "T")}
	}
	return t, nil
}

// HasVariable is always false: the environment of others cannot be read here.
// Descendants and process groups are still found.
func HasVariable(int, string) bool { return false }

// Variable is always empty, as [HasVariable] is false.
func Variable(int, string) string { return "" }

// CommandName is the name of a process's program.
func CommandName(pid int) string {
	out, _ := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output() // empty of one that has ended
	return strings.TrimSpace(string(out))
}
