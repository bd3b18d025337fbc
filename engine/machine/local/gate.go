package local

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/seer-engine/seer/engine/gate"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// gateNote is what the provider writes down of a machine's gate.
type gateNote struct {
	Process process    `json:"process,omitzero"`
	Ports   []gatePort `json:"ports,omitempty"`
	Hosts   []string   `json:"hosts,omitempty"`
}

// gatePort is a port inside and the one of this computer that leads to it.
type gatePort struct {
	Port    int  `json:"port"`
	Outside int  `json:"outside"`
	Any     bool `json:"any,omitempty"` // another one outside will do
}

// ownNetwork reports whether the machine does not share this computer's network.
func ownNetwork(spec *sdk.MachineSpec) bool { return spec.Network == "none" || spec.Network == "hosts" }

// wantsGate is the gate that a machine needs, nil for most.
func wantsGate(spec *sdk.MachineSpec, kind string) *gateNote {
	if kind == isolation.None || !ownNetwork(spec) || len(spec.Ports)+len(spec.NetworkHosts) == 0 {
		return nil
	}
	g := &gateNote{Hosts: spec.NetworkHosts}
	for _, port := range spec.Ports {
		g.Ports = append(g.Ports, gatePort{Port: port, Outside: port, Any: slices.Contains(spec.AnyPort, port)})
	}
	return g
}

// inside is what the runtime is told of the gate.
func (g *gateNote) inside() gate.Inside {
	in := gate.Inside{Dir: "/run/seer/ports"}
	for _, port := range g.Ports {
		in.Ports = append(in.Ports, port.Port)
	}
	if len(g.Hosts) > 0 {
		in.Proxy, in.ProxyPort = "/run/seer/proxy", gate.ProxyPort
	}
	return in
}

// gateCommand is the program of gates: the runtime's binary of this computer, which
// lies beside the program and outlives it.
func (p *provider) gateCommand() []string {
	if len(p.Gate) > 0 {
		return p.Gate
	}
	return []string{filepath.Join(p.ArtifactsDir, runtimePrefix+runtime.GOOS+"-"+runtime.GOARCH), "gate"}
}
