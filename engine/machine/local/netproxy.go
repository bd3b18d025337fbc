package local

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/sdk"
)

// proxyNote is what the provider writes down of a machine's network proxy.
type proxyNote struct {
	Process process     `json:"process,omitzero"`
	Ports   []proxyPort `json:"ports,omitempty"`
	Hosts   []string    `json:"hosts,omitempty"`

	HostPorts []int  `json:"host_ports,omitempty"` // of this computer, reached from inside
	Open      bool   `json:"open,omitempty"`       // to everything but this computer
	Tool      string `json:"tool,omitempty"`       // by which; without one by the proxy
}

// proxied reports whether programs inside reach others by HTTP proxy.
func (g *proxyNote) proxied() bool { return len(g.Hosts) > 0 || g.Open && g.Tool == "" }

// connected reports whether the machine's network namespace is connected by a tool.
func (g *proxyNote) connected() bool { return g != nil && g.Tool != "" }

// proxyPort is a port inside and the one of this computer that leads to it.
type proxyPort struct {
	Port    int `json:"port"`
	Outside int `json:"outside"`
	// Former are the ports that it had in place of Outside; somebody else took them while the
	// network proxy was dead. Routes to the machine may still name them.
	Former []int `json:"former,omitempty"`
	Any    bool  `json:"any,omitempty"` // another one outside will do
}

// The networks that only this provider tells apart.
const (
	openNetwork = "open" // or empty: the Internet without this computer
	hostNetwork = "host" // this computer's
)

// ownNetwork reports whether the machine does not share this computer's network.
func ownNetwork(spec *sdk.MachineSpec, kind string) bool {
	return kind != isolation.None && spec.Network != hostNetwork
}

// opens reports whether the machine reaches the Internet from a network of its own.
func opens(spec *sdk.MachineSpec, kind string) bool {
	return ownNetwork(spec, kind) && (spec.Network == openNetwork || spec.Network == "")
}

// wantsProxy is the network proxy that a machine needs, nil for some. tool connects open networks.
func wantsProxy(spec *sdk.MachineSpec, kind, tool string) (*proxyNote, error) {
	ports, err := hostPorts(spec)
	if err != nil || !ownNetwork(spec, kind) || len(spec.Ports)+len(spec.NetworkHosts)+len(ports) == 0 && !opens(spec, kind) {
		return nil, err
	}
	g := &proxyNote{Hosts: spec.NetworkHosts, HostPorts: ports, Open: opens(spec, kind)}
	if g.Open {
		g.Tool = tool
	}
	for _, port := range spec.Ports {
		g.Ports = append(g.Ports, proxyPort{Port: port, Outside: port, Any: slices.Contains(spec.AnyPort, port)})
	}
	return g, nil
}

// HostPortsVariable is the variable in the Env of a spec with the ports of this computer
// that the machine reaches at its own loopback: numbers with commas between them.
const HostPortsVariable = "SEER_HOST_PORTS"

// HostPorts is the value of [HostPortsVariable].
func HostPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = strconv.Itoa(port)
	}
	return strings.Join(words, ",")
}

func hostPorts(spec *sdk.MachineSpec) (ports []int, err error) {
	text := spec.Env[HostPortsVariable]
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		port, err := strconv.Atoi(word)
		if err != nil || port < 1024 || port > 65535 || slices.Contains(spec.Ports, port) || slices.Contains(ports, port) {
			return nil, sdk.Errorf(sdk.Invalid, "the host port %q is none from 1024 to 65535, or is named twice", word)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// hostSocket is the name of the socket that leads to a port of this computer.
func hostSocket(port int) string { return "host-" + strconv.Itoa(port) }

// inside is the part of the configuration that the runtime gets.
func (g *proxyNote) inside() netproxy.Inside {
	in := netproxy.Inside{Dir: "/run/seer/ports"}
	for _, port := range g.Ports {
		in.Ports = append(in.Ports, port.Port)
	}
	for _, port := range g.HostPorts {
		in.HostPorts = append(in.HostPorts, netproxy.Out{Port: port, Socket: "/run/seer/" + hostSocket(port)})
	}
	if g.proxied() {
		in.Proxy, in.ProxyPort = "/run/seer/proxy", netproxy.ProxyPort
	}
	return in
}

// proxyCommand is the program of network proxies.
func (p *provider) proxyCommand() []string {
	if len(p.NetProxy) > 0 {
		return p.NetProxy
	}
	return p.runtimes.command("netproxy")
}
