// Package cgroup bounds what a command and everything it starts take of this computer:
// memory, processor time and processes.
package cgroup

import (
	"fmt"
	"strings"
	"time"
)

// Limits are upper bounds; zero is none.
type Limits struct {
	Memory    int64   // bytes; swap counts where the kernel counts it
	CPU       float64 // cores
	Processes int     // processes and threads
}

// Processes that a command may have at most unless it says otherwise. gVisor needs
// some threads of this computer for each of the command's own.
const (
	AgentProcesses   = 4096
	SandboxProcesses = 16384
	GVisorFactor     = 4
)

// Group are the control groups of one command.
type Group struct {
	Unified string            `json:"unified,omitempty"` // version 2: one folder
	Folders map[string]string `json:"folders,omitempty"` // version 1: controller → folder
	Only    []string          `json:"only,omitempty"`    // version 2: the controllers that are there, if not all
}

// wanted are the controllers that limits need, and how messages call them.
func (l Limits) wanted() []string {
	var out []string
	if l.Memory > 0 {
		out = append(out, "memory")
	}
	if l.CPU > 0 {
		out = append(out, "cpu")
	}
	if l.Processes > 0 {
		out = append(out, "pids")
	}
	return out
}

// Unlimited is the warning about limits that cannot be kept.
func (l Limits) Unlimited(reason error) string { return unlimited(l.wanted(), reason) }

func unlimited(controllers []string, reason error) string {
	names := map[string]string{"pids": "the number of processes"}
	var out []string
	for _, c := range controllers {
		if name, ok := names[c]; ok {
			c = name
		}
		out = append(out, c)
	}
	verb := "are"
	if len(out) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s not limited: %v", strings.Join(out, " and "), verb, reason)
}

// New finds and makes control groups for limits. Where some or all of them cannot be
// kept, the warning says so; without any, the group is nil, which is valid.
func New(name string, l Limits) (*Group, string) {
	g, warning := Find(name, l)
	if g == nil {
		return nil, warning
	}
	if err := g.Make(l); err != nil {
		_ = g.Remove()
		return nil, l.Unlimited(err)
	}
	return g, warning
}

// RemoveWithin removes the groups of a command that has ended, nil for none. What was
// killed may be in them for a moment.
func (g *Group) RemoveWithin(limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if err := g.Remove(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// Killable is the folder of the group by which everything in it can be killed at once;
// empty where there is none.
func (g *Group) Killable() string {
	if g == nil {
		return ""
	}
	return g.Unified
}
