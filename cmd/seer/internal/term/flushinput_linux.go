package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed before a question was asked: the second line of
// something pasted is no answer.
func flushInput(in *os.File) { _ = unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
