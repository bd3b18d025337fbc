//go:build !linux

package spawn

import "syscall"

// ChildAttr puts a process into a group of its own. This system has no way to
// end it with its parent; the loader ends what a killed runtime leaves.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// TerminalAttr makes a process the leader of a session whose terminal is its input.
func TerminalAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// DetachedAttr is the same: here no worker outlives its runtime.
func DetachedAttr() *syscall.SysProcAttr { return ChildAttr() }

// RaiseFileLimit does nothing: only a process itself can do it here.
func RaiseFileLimit(int) {}
