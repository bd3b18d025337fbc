package fakerunpod

import "github.com/seer-engine/seer/engine/enginetest/container"

// Machine is the container that a pod runs now; nil where nothing runs.
func (c *Cloud) Machine(id string) *container.Container {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if p.id == id {
			return p.machine
		}
	}
	return nil
}

// Freeze lets a pod go silent: it is RUNNING and costs money, but nothing on it moves.
func (c *Cloud) Freeze(id string) {
	if m := c.Machine(id); m != nil {
		m.Freeze()
	}
}

// Thaw ends Freeze.
func (c *Cloud) Thaw(id string) {
	if m := c.Machine(id); m != nil {
		m.Thaw()
	}
}

// Kill ends everything on a pod at once. RunPod then starts its program again.
func (c *Cloud) Kill(id string) {
	if m := c.Machine(id); m != nil {
		m.Kill()
	}
}

// Lose ends a pod for good, as a host that is lost does: it becomes ERROR, and costs
// money until it is deleted.
func (c *Cloud) Lose(id string) {
	defer c.Kill(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if p.id == id && p.bills() {
			p.life.cancel()
			p.setStatus(failed, c.now())
		}
	}
}
