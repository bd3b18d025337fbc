package pondcloud

import (
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
)

// finish ends a machine that lives. The cloud's mutex is held; its life does the rest.
func (c *Cloud) finish(m *machine, state, reason string) {
	if !m.over.IsZero() {
		return
	}
	m.State, m.Reason, m.over = state, reason, time.Now()
	close(m.end)
}

// live is the life of a machine. It returns when nothing is left of its processes.
func (c *Cloud) live(m *machine, r rent) {
	defer c.workers.Done()
	last := time.NewTimer(time.Until(time.Unix(m.EndUnix, 0)))
	defer last.Stop()
	if m.EndUnix == 0 {
		last.Stop()
	}
	if !c.wait(m, c.o.Queue, last) {
		return
	}
	if !c.turn(m, booting) {
		return
	}
	if !c.wait(m, c.o.Boot, last) {
		return
	}
	var exited <-chan struct{} // nil = never
	if !c.o.Dry {
		box, err := container.Start(filepath.Join(c.dir, m.ID), container.Spec{
			Argv: r.Command, Env: r.Env, Python: c.o.Python, Output: c.o.Output,
		})
		if err != nil {
			c.over(m, failed, err.Error())
			return
		}
		defer box.Kill()
		c.mu.Lock()
		m.box = box
		c.mu.Unlock()
		exited = box.Done()
	}
	if !c.turn(m, up) {
		return
	}
	select {
	case <-m.end:
	case <-exited:
		c.over(m, ended, "its command has exited")
	case <-last.C:
		c.over(m, ended, "its end_unix has come")
	}
}

// wait lets time pass, unless the machine ends meanwhile.
func (c *Cloud) wait(m *machine, d time.Duration, last *time.Timer) bool {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-last.C:
		c.over(m, ended, "its end_unix has come")
	case <-m.end:
	}
	return false
}

// turn brings a machine that lives into another state.
func (c *Cloud) turn(m *machine, state string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !m.over.IsZero() {
		return false
	}
	m.State = state
	if m.billed.IsZero() {
		m.billed = time.Now()
	}
	return true
}

func (c *Cloud) over(m *machine, state, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(m, state, reason)
}
