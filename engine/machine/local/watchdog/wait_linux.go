package watchdog

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/machine/local/proc"
)

// waitEnd returns when a process has ended, or cannot be waited for.
func waitEnd(p proc.Process) {
	if p.PID == 0 {
		return
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !proc.Alive(p) { // another process has the number by now
		return
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
