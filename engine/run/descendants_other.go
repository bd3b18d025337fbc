//go:build !linux

package run

import "syscall"

// ask tells the agent's processes to end.
func ask(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

// endMarked does nothing where the variables of other processes cannot be read.
func endMarked(string) {}
