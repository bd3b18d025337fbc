package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed before a question was asked: the second line of
// something pasted is no answer.
func forgetTyped(in *os.File) { _ = unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
