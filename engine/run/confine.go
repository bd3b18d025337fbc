package run

import (
	"fmt"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/engine/isolation/filebits"
)

// limitsOf are what a confined agent may take of this computer.
func limitsOf(kind string, agent *experiment.Agent) (cgroup.Limits, error) {
	l := cgroup.Limits{Memory: int64(agent.MemoryGB * (1 << 30)), CPU: agent.CPU, Processes: agent.Processes}
	if l.Memory == 0 {
		all, err := cgroup.ComputerMemory()
		if err != nil {
			return l, err
		}
		l.Memory = all / 2
	}
	if l.Processes == 0 {
		l.Processes = cgroup.AgentProcesses
	}
	if kind == isolation.GVisor {
		l.Processes *= cgroup.GVisorFactor
	}
	return l, nil
}

// group makes the agent's control groups, nil where none can be had, which it warns of.
func (a *agentSetup) group(r *runner) *cgroup.Group {
	const prefix = "seer-agent-"
	g, warning := cgroup.New(fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), r.id), a.limits)
	g.Sweep(prefix)
	if warning != "" {
		r.warn("the agent: %s", warning)
	}
	return g
}

// lift removes the groups of an agent that has ended, and says if its memory was full.
func (a *agentSetup) lift(r *runner, g *cgroup.Group) {
	if g == nil {
		return
	}
	if g.Full() {
		r.warn("the agent's memory of %.1f GiB was full, and the kernel ended processes of it; set agent.memory to more", float64(a.limits.Memory)/(1<<30))
	}
	if err := g.RemoveWithin(2 * time.Second); err != nil {
		r.warn("%v", err)
	}
}

// strip takes setuid and setgid bits and file capabilities from what is in the workspace.
// The agent cannot set them; this is for what it could by a way that nobody knows yet.
func (a *agentSetup) strip(r *runner) error {
	if !a.confined() {
		return nil
	}
	found, err := filebits.Strip(r.exp.Workspace.Dir)
	for _, name := range found {
		r.warn("%s in the workspace had a setuid or setgid bit or a capability, and has none now", name)
	}
	if err != nil {
		return fmt.Errorf("strip the files of the workspace: %w", err)
	}
	return nil
}

// started is the event of the start: how the agent is confined, and what it may take.
func (a *agentSetup) started(agent *experiment.Agent) event.AgentStarted {
	e := event.AgentStarted{Isolation: a.isolation, Network: agent.Network}
	if !a.confined() {
		return e
	}
	processes := agent.Processes
	if processes == 0 {
		processes = cgroup.AgentProcesses
	}
	e.Memory, e.Processes, e.CPU, e.Nested = a.limits.Memory, processes, agent.CPU, agent.Nested
	return e
}
