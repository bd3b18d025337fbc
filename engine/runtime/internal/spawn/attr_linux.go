package spawn

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ChildAttr puts a process into a group of its own and ends it with the
// thread that started it: nothing may outlive a killed runtime.
func ChildAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// TerminalAttr makes a process the leader of a session whose terminal is its input. It
// ends with the thread that started it.
func TerminalAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}

// DetachedAttr puts a worker into a group of its own. It outlives the runtime: what
// ends it with the machine is the pipe that the loader holds.
func DetachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// RaiseFileLimit allows a worker as many open files as it may have: each connection is
// one. It keeps what it has where that is not possible.
func RaiseFileLimit(pid int) {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit) == nil && limit.Cur < limit.Max {
		limit.Cur = min(limit.Max, 1<<16)
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil)
	}
}
