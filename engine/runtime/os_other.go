//go:build !linux

package runtime

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/protocol"
)

// processAttr puts a process into a group of its own. This system has no way to
// end it with its parent; the loader ends what a killed runtime leaves.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminalAttr makes a process the leader of a session whose terminal is its input.
func terminalAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// workerAttr is the same: here no worker outlives its runtime.
func workerAttr() *syscall.SysProcAttr { return processAttr() }

// raiseFiles does nothing: only a process itself can do it here.
func raiseFiles(int) {}

// diskOf is not told here, and nothing is refused.
func diskOf(*os.File) (total, free uint64, err error) { return 0, 0, errors.ErrUnsupported }

func waitDescriptor(int, string) bool { return false }

// dieWithParent does nothing here: the runtime looks at its parent each second.
func dieWithParent() error { return nil }

// closeMemory does nothing: this system asks for a right of its own first.
func closeMemory() error { return nil }

func anonymousFile(dir string, size int64) (*os.File, error) {
	f, err := os.CreateTemp(dir, "memory-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, f.Truncate(size)
}

// sealedFile makes a file without a name, which only those change that are given it.
func sealedFile(dir string, data []byte, _ bool) (*os.File, error) {
	f, err := anonymousFile(dir, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func punch(*os.File, int64) error { return errors.ErrUnsupported }

// processTable asks ps, which every Unix has.
func processTable() (table, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,state=").Output()
	if err != nil {
		return nil, err
	}
	t := table{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[3], "Z") {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		group, _ := strconv.Atoi(f[2])
		t[pid] = tableEntry{parent: parent, group: group, stopped: strings.HasPrefix(f[3], "T")}
	}
	return t, nil
}

// hasVariable is always false: the environment of others cannot be read here.
// Descendants and process groups are still found.
func hasVariable(int, string) bool { return false }

func variable(int, string) string { return "" }

// systemUsage knows nothing here but what Go does.
func (s *Server) systemUsage(*protocol.Usage) {}

// syncDisk writes everything to its disks: there is nothing finer here.
func syncDisk(*os.File) error {
	syscall.Sync()
	return nil
}

func commandName(pid int) string {
	out, _ := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output() // empty of one that has ended
	return strings.TrimSpace(string(out))
}
