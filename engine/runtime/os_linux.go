package runtime

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has this program told when the loader dies. The loader may have
// died before, so the caller compares parents afterwards.
func dieWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0)
}

// closeMemory keeps other processes of the same user from reading this one's memory and
// descriptors: admin token, secrets and the state of services are in them. What is
// started from here can be looked at as ever.
func closeMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
