package fakemodal

import (
	"fmt"
	"slices"
	"time"
)

// State is where a sandbox is in its life.
type State string

// The states of a sandbox.
const (
	Queued  State = "queued" // it has no machine yet
	Running State = "running"
	Ending  State = "ending" // it was told to
	Ended   State = "ended"
)

// Machine is a sandbox as the owner of the cloud sees it.
type Machine struct {
	ID, Task, App, Name string
	Tags                map[string]string
	V2                  bool // of the second back end
	GPU                 string
	GPUCount            int
	State               State
	Billing             bool      // it costs money now
	Created             time.Time //
	Started, Ended      time.Time // zero: not yet
	Result              string    // of one that has ended: SUCCESS, FAILURE, TERMINATED, TIMEOUT, IDLE_TIMEOUT, INIT_FAILURE, INTERNAL_FAILURE
	ExitCode            int
	Tunnels             map[int]string // port → host:port on this computer
}

// Machines are all sandboxes that there ever were, oldest first.
func (c *Cloud) Machines() []Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Machine
	for _, sb := range c.sandboxes {
		out = append(out, sb.machine())
	}
	slices.SortFunc(out, func(a, b Machine) int { return a.Created.Compare(b.Created) })
	return out
}

// machine describes a sandbox. The caller holds mu.
func (sb *sandbox) machine() Machine {
	m := Machine{ID: sb.id, Task: sb.task, App: sb.app.name, Name: sb.name, Tags: map[string]string{}, V2: sb.v2, GPU: sb.gpu(),
		GPUCount: gpuCount(sb.def), Created: date(sb.created), Started: date(sb.started), Ended: date(sb.ended), Tunnels: map[int]string{}}
	for _, t := range sb.tunnels {
		m.Tunnels[int(t.spec.GetPort())] = t.listener.Addr().String()
	}
	for _, t := range sb.tags {
		m.Tags[t.GetTagName()] = t.GetTagValue()
	}
	m.Billing = sb.started != 0 && sb.result == nil
	switch {
	case sb.result != nil:
		m.State, m.ExitCode = Ended, int(sb.result.GetExitcode())
		m.Result = sb.result.GetStatus().String()[len("GENERIC_STATUS_"):]
	case sb.why != endNot:
		m.State = Ending
	case sb.started != 0:
		m.State = Running
	default:
		m.State = Queued
	}
	return m
}

func date(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6))
}

// KillMachine breaks the machine of a sandbox: the cloud notices and ends it.
func (c *Cloud) KillMachine(id string) error {
	return c.withRunning(id, func(sb *sandbox) { sb.endNow(endLost) })
}

// FreezeMachine silences a sandbox without ending it: nothing in it runs, and it
// still costs money.
func (c *Cloud) FreezeMachine(id string) error {
	return c.withRunning(id, func(sb *sandbox) { sb.container.Freeze() })
}

// ThawMachine ends FreezeMachine.
func (c *Cloud) ThawMachine(id string) error {
	return c.withRunning(id, func(sb *sandbox) { sb.container.Thaw() })
}

// CutTunnels closes every connection through the tunnels of a sandbox. New ones work.
func (c *Cloud) CutTunnels(id string) error {
	return c.withRunning(id, func(sb *sandbox) {
		c.mu.Lock()
		tunnels := slices.Clone(sb.tunnels)
		c.mu.Unlock()
		for _, t := range tunnels {
			t.cut()
		}
	})
}

func (c *Cloud) withRunning(id string, do func(*sandbox)) error {
	c.mu.Lock()
	sb, ok := c.sandboxes[id]
	running := ok && sb.container != nil && sb.result == nil
	c.mu.Unlock()
	if !running {
		return fmt.Errorf("no running sandbox has the ID %q", id)
	}
	do(sb)
	return nil
}
