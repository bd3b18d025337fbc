package local

import (
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/sdk"
)

// limitsOf are what a machine may take of this computer.
func limitsOf(n *note, spec *sdk.MachineSpec) cgroup.Limits {
	l := cgroup.Limits{Memory: int64(spec.MemoryGB * (1 << 30)), CPU: spec.CPU, Processes: cgroup.SandboxProcesses}
	switch n.Isolation {
	case isolation.GVisor:
		l.Processes *= cgroup.GVisorFactor
	case isolation.None:
		l.Processes = 0 // as a process of the user, it has the user's limits
	}
	return l
}

// confine decides where the machine's memory, processor time and processes are limited.
// Where that cannot be done the machine runs without, and its log says so.
func confine(handle string, n *note) (warning string) {
	n.Limits, warning = cgroup.Find("seer-"+handle, limitsOf(n, n.Spec))
	return warning
}

// limit makes the control groups; the note, which is on disk, tells where they are.
func limit(n *note, spec *sdk.MachineSpec) (warning string) {
	if n.Limits == nil {
		return ""
	}
	l := limitsOf(n, spec)
	if err := n.Limits.Make(l); err != nil {
		_ = n.Limits.Remove()
		n.Limits = nil
		return l.Unlimited(err)
	}
	return ""
}

// lift removes the control groups.
func (n *note) lift() error { return n.Limits.RemoveWithin(2 * time.Second) }

// tmpfsSize bounds each folder in memory of a machine, such as /dev/shm: half of the
// machine's memory, or of this computer's by the kernel's default.
func tmpfsSize(spec *sdk.MachineSpec) int64 { return int64(spec.MemoryGB * (1 << 29)) }
