package image

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runDying runs a program that dies with this one. The system ends it with the thread that has
// started it.
func runDying(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
