package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepInherited keeps files that the program above left open for us from what we
// start: a sandbox must not see them, and would hold them open after our end.
func keepInherited() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
