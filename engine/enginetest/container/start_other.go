//go:build !linux

package container

import (
	"os/exec"
	"syscall"
)

func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

// processes is the first program alone: elsewhere nothing tells what belongs to it.
func (c *Container) processes() []int {
	select {
	case <-c.Done():
		return nil
	default:
		return []int{c.cmd.Process.Pid}
	}
}
