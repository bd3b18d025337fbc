package runtime

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

// processAttr puts a process into a group of its own and ends it with the
// thread that started it: nothing may outlive a killed runtime.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// terminalAttr makes a process the leader of a session whose terminal is its input. It
// ends with the thread that started it.
func terminalAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}

// workerAttr puts a worker into a group of its own. It outlives the runtime: what
// ends it with the machine is the pipe that the loader holds.
func workerAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// raiseFiles allows a worker as many open files as it may have: each connection is
// one. It keeps what it has where that is not possible.
func raiseFiles(pid int) {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit) == nil && limit.Cur < limit.Max {
		limit.Cur = min(limit.Max, 1<<16)
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil)
	}
}

// waitDescriptor waits for the end of a process, and reports whether it could.
func waitDescriptor(pid int, cookie string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, syscall.ESRCH)
	}
	defer unix.Close(fd)
	if !hasVariable(pid, cookie) { // another process has the number by now
		return true
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, syscall.EINTR) {
			return n > 0
		}
	}
}

// dieWithParent has this program told when the loader dies. The loader may have
// died before, so the caller compares parents afterwards.
func dieWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0)
}

// closeMemory keeps other processes of the same user from reading this one's memory and
// descriptors: admin token, secrets and the state of services are in them. What is
// started from here can be looked at as ever.
func closeMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// anonymousFile makes a file that lives in memory, so that a full disk cannot
// take it away.
func anonymousFile(_ string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("seer", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "seer-memory")
	return f, f.Truncate(size)
}

// sealedFile makes a file that lives in memory and that nobody can change, if closed.
func sealedFile(_ string, data []byte, closed bool) (*os.File, error) {
	fd, err := unix.MemfdCreate("seer-worker", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "seer-worker")
	if _, err = f.Write(data); err == nil && closed {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("keep a file in memory: %w", err)
	}
	return f, nil
}

// punch gives the disk space of the first n bytes back; offsets stay.
func punch(f *os.File, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, n)
}

// processTable reads the living processes of the system.
func processTable() (table, error) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("the processes of the machine cannot be seen: /proc is not there")
	}
	t := make(table, len(names))
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
func readStat(dir string) (tableEntry, bool) {
	state, e, ok := readState(dir)
	if !ok || strings.Contains("ZX", state) && e.threads < 2 && livingThread(dir) == dir {
		return tableEntry{}, false
	}
	if strings.Contains("ZX", state) && livingThread(dir) == dir {
		return e, true // gVisor does not list its threads, so nobody knows that they stand still
	}
	e.stopped = strings.Contains("ZXTt", state) && !anyThread(dir, func(state string) bool { return !strings.Contains("ZXTt", state) })
	return e, true
}

// readState reads what follows the command's name, which may contain anything.
func readState(dir string) (state string, e tableEntry, ok bool) {
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

// hasVariable reports whether a process was started with each NAME=value of a cookie.
func hasVariable(pid int, cookie string) bool {
	for pair := range strings.SplitSeq(cookie, "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || variable(pid, name) != value {
			return false
		}
	}
	return true
}

// variable is one that a process was started with; empty where there is none.
func variable(pid int, name string) string {
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

// diskOf tells the size of a file's disk, and what is free of it for us.
func diskOf(f *os.File) (total, free uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &stat); err != nil {
		return 0, 0, err
	}
	return stat.Blocks * uint64(stat.Bsize), stat.Bavail * uint64(stat.Bsize), nil
}

// syncDisk writes the file system under a file to its disk.
func syncDisk(f *os.File) error { return unix.Syncfs(int(f.Fd())) }

// commandName is the name of a process's program.
func commandName(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // empty of one that has ended
	return strings.TrimSpace(string(data))
}
