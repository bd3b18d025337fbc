package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/internal/bootid"
)

// BootID distinguishes processes of this run of the computer from earlier ones.
func BootID() string {
	id := bootid.Read()
	return id[:min(len(id), 8)] // as in the notes of machines that run
}

// stat reads a process's state, parent and start time.
func stat(pid int) (state byte, parent int, start string, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, "", err
	}
	return parseStat(data)
}

func parseStat(data []byte) (state byte, parent int, start string, err error) {
	// The name, in parentheses, may contain anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return 0, 0, "", fmt.Errorf("%q is not the state of a process", data)
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0][0], parent, fields[19], err
}

// lives reports whether a process of a state does. One whose first thread has ended is a
// zombie, and lives on in its others.
func lives(pid int, state byte) bool { return livingThread(pid, state) != "" }

// livingThread is the folder of the process, or of a thread of it that lives; empty if none does.
func livingThread(pid int, state byte) string {
	dir := fmt.Sprintf("/proc/%d", pid)
	if state != 'Z' && state != 'X' {
		return dir
	}
	threads, _ := os.ReadDir(dir + "/task") // it may have gone
	for _, thread := range threads {
		data, err := os.ReadFile(dir + "/task/" + thread.Name() + "/stat")
		if err != nil {
			continue
		}
		if state, _, _, err := parseStat(data); err == nil && state != 'Z' && state != 'X' {
			return dir + "/task/" + thread.Name()
		}
	}
	return ""
}

// StartOf identifies the start of a living process; a zombie without threads does not live.
func StartOf(pid int) (string, bool) {
	state, _, start, err := stat(pid)
	if err != nil || !lives(pid, state) {
		return "", false
	}
	return BootID() + ":" + start, true
}

// Carries reports whether the environment of the process has exactly this entry.
func Carries(pid int, cookie string) bool {
	state, _, _, err := stat(pid)
	if err != nil {
		return false // gone
	}
	env, err := os.ReadFile(livingThread(pid, state) + "/environ")
	if err != nil {
		return false // gone, or of somebody else
	}
	want := []byte(cookie)
	for _, entry := range bytes.Split(env, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

// Name is the short name of a process's program; empty = it has gone.
func Name(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSuffix(string(name), "\n")
}

func workingFolder(pid int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) }

func scan(keep func(pid int, parents map[int]int) bool) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for the machine's processes: %w", err)
	}
	parents, starts := map[int]int{}, map[int]string{}
	boot := BootID()
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		state, parent, start, err := stat(pid)
		if err != nil || !lives(pid, state) {
			continue
		}
		parents[pid], starts[pid] = parent, boot+":"+start
	}
	var out []Process
	for pid, start := range starts {
		if keep(pid, parents) {
			out = append(out, Process{PID: pid, Start: start})
		}
	}
	return out, nil
}

// Signal sends a signal to exactly this process, even if its number is given
// away in between.
func Signal(p Process, sig syscall.Signal) error {
	handle, err := os.FindProcess(p.PID) // a pidfd where the kernel has them
	if err != nil {
		return ignoreGone(err)
	}
	defer func() { _ = handle.Release() }()
	if !Alive(p) {
		return nil
	}
	return ignoreGone(handle.Signal(sig))
}

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
