package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitDescriptor waits for the end of a process, and reports whether it could.
func waitDescriptor(pid int, cookie string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, syscall.ESRCH)
	}
	defer unix.Close(fd)
	if !HasVariable(pid, cookie) { // another process has the number by now
		return true
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, syscall.EINTR) {
			return n > 0
		}
	}
}

// Read reads the living processes of the system.
func Read() (Table, error) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("the processes of the machine cannot be seen: /proc is not there")
	}
	t := make(Table, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if e, ok := readStat(name); ok {
			t[pid] = e
		}
	}
	return t, nil
}

// readStat reads an entry of the table. A process whose first thread has ended lives on in
// its others, and one stands still only if all its threads do.
func readStat(dir string) (Entry, bool) {
	state, e, ok := readState(dir)
	if !ok || strings.Contains("ZX", state) && e.threads < 2 && livingThread(dir) == dir {
		return Entry{}, false
	}
	if strings.Contains("ZX", state) && livingThread(dir) == dir {
		return e, true // gVisor does not list its threads, so nobody knows that they stand still
	}
	e.Stopped = strings.Contains("ZXTt", state) && !anyThread(dir, func(state string) bool { return !strings.Contains("ZXTt", state) })
	return e, true
}

// readState reads what follows the command's name, which may contain anything.
func readState(dir string) (state string, e Entry, ok bool) {
	data, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return "", e, false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 18 {
		return "", e, false
	}
	e.parent, _ = strconv.Atoi(string(fields[1]))
	e.group, _ = strconv.Atoi(string(fields[2]))
	e.threads, _ = strconv.Atoi(string(fields[17]))
	return string(fields[0]), e, true
}

// livingThread is the folder of the process, or of a thread that lives where its first has
// ended: that has no environment any more.
func livingThread(dir string) string {
	if state, _, ok := readState(dir); !ok || !strings.Contains("ZX", state) {
		return dir
	}
	threads, _ := filepath.Glob(dir + "/task/[0-9]*")
	for _, thread := range threads {
		if state, _, ok := readState(thread); ok && !strings.Contains("ZX", state) {
			return thread
		}
	}
	return dir
}

// anyThread reports whether a thread of a process has a state that is looked for.
func anyThread(dir string, is func(state string) bool) bool {
	threads, _ := filepath.Glob(dir + "/task/[0-9]*")
	return slices.ContainsFunc(threads, func(thread string) bool {
		state, _, ok := readState(thread)
		return ok && is(state)
	})
}

// HasVariable reports whether a process was started with each NAME=value of a cookie.
func HasVariable(pid int, cookie string) bool {
	for pair := range strings.SplitSeq(cookie, "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || Variable(pid, name) != value {
			return false
		}
	}
	return true
}

// Variable is one that a process was started with; empty where there is none.
func Variable(pid int, name string) string {
	data, err := os.ReadFile(livingThread(fmt.Sprintf("/proc/%d", pid)) + "/environ")
	if err != nil {
		return ""
	}
	for v := range strings.SplitSeq(string(data), "\x00") {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// CommandName is the name of a process's program.
func CommandName(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // empty of one that has ended
	return strings.TrimSpace(string(data))
}
