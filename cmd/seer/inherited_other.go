//go:build !linux

package main

import "golang.org/x/sys/unix"

// keepInherited keeps files that the program above left open for us from what we
// start.
func keepInherited() {
	for fd := 3; fd < 256; fd++ {
		unix.CloseOnExec(fd) // of one that is not open, too: nothing happens
	}
}
