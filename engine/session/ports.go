package session

import (
	"slices"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/sdk"
)

// Network says how the ports of a machine are reached.
type Network struct {
	Here   bool // the machine is this computer's
	Shared bool // and has this computer's network

	// Carried ports are reached at the loopback of the machine, or of the host that it is on.
	Carried bool
}

// AddPorts asks for the ports of Jupyter and VS Code. On a machine that shares this
// computer's network, a port that may be another one is looked for when it is needed. On
// one of this computer with a network of its own, all may be others outside but those that
// jupyter_port and debug_port name. The ports that a rented machine can do without are
// returned: the way through the runtime is always there.
func AddPorts(spec *sdk.MachineSpec, s experiment.Sandbox, n Network) (optional []int) {
	if n.Here && !n.Shared {
		spec.AnyPort = slices.Clone(spec.Ports)
	}
	ports, movable := wantedPorts(s)
	for _, port := range ports {
		may := slices.Contains(movable, port)
		if n.Here && n.Shared && may {
			continue
		}
		if !n.Here && !slices.Contains(spec.Ports, port) {
			optional = append(optional, port)
		}
		spec.Ports = append(slices.Clone(spec.Ports), port)
		if n.Here && may {
			spec.AnyPort = append(spec.AnyPort, port)
		}
	}
	return optional
}

// wantedPorts are the ports at which Jupyter and VS Code will listen, and those of them
// that may be others.
func wantedPorts(s experiment.Sandbox) (ports, movable []int) {
	for _, l := range []struct {
		wanted      bool
		port, usual int
	}{{s.ExecutionMode == experiment.ModeNotebook, s.JupyterPort, notebook.DefaultPort}, {s.Debug, s.DebugPort, codeserver.DefaultPort}} {
		switch {
		case !l.wanted:
		case l.port != 0:
			ports = append(ports, l.port)
		default:
			ports, movable = append(ports, l.usual), append(movable, l.usual)
		}
	}
	return ports, movable
}

// everywhere is where programs listen on a machine whose ports are led to from outside.
const everywhere = "0.0.0.0"

// listenIP is where the session's programs listen; empty = only the machine itself.
func (s Starter) listenIP() string {
	if s.Network.Here || s.Network.Carried || s.UnexposedPorts {
		return ""
	}
	return everywhere
}

// port is the port that must be had: the one that was asked for, or the one that the
// provider has been told; 0 = any.
func (s Starter) port(asked, usual int) int {
	if asked == 0 && (!s.Network.Here || !s.Network.Shared) {
		return usual
	}
	return asked
}
