//go:build !linux

package cgroup

import (
	"errors"
	"os/exec"
)

// Find finds nothing: control groups exist only on Linux.
func Find(_ string, l Limits) (*Group, string) {
	if wanted := l.wanted(); len(wanted) > 0 {
		return nil, unlimited(wanted, errors.New("that needs Linux"))
	}
	return nil, ""
}

// Make has nothing to make.
func (g *Group) Make(Limits) error { return nil }

// Start starts a command.
func (g *Group) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Full reports that no limit was reached.
func (g *Group) Full() bool { return false }

// MemoryLeft reports that there is no limit.
func (g *Group) MemoryLeft() (int64, bool) { return 0, false }

// Remove has nothing to remove.
func (g *Group) Remove() error { return nil }

// Sweep has nothing to remove.
func (g *Group) Sweep(string) {}

// ComputerMemory is not known here; it bounds nothing.
func ComputerMemory() (int64, error) { return 0, nil }
