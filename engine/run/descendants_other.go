//go:build !linux

package run

import "syscall"

// ask tells the agent's processes to end.
func ask(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
