package local

import (
	"syscall"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/proc"
)

// process tells a process apart from a later one with the same number.
type process = proc.Process

func alive(p process) bool                            { return proc.Alive(p) }
func startOf(pid int) (string, bool)                  { return proc.StartOf(pid) }
func carriers(cookie string) ([]process, error)       { return proc.Carriers(cookie) }
func signalTo(p process, number syscall.Signal) error { return proc.Signal(p, number) }
func machineCookie(key string) string                 { return proc.MachineCookie(key) }
func proxyCookie(key string) string                   { return proc.NetProxyCookie(key) }

// processesOf is what is known of a machine's processes.
func (f folder) processesOf(n *note) proc.Machine {
	m := proc.Machine{Key: n.Key, Outer: n.Outer, Contained: n.Isolation != isolation.None, NetProxied: n.NetProxy != nil, Cgroup: n.Limits.Killable()}
	if m.Contained {
		m.Inner, _ = f.inner(n.Key)
	}
	return m
}
