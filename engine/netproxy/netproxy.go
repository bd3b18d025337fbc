// Package netproxy connects a machine of this computer that has a network of its own. A small
// program outside of the machine forwards ports of this computer to ports inside. It lets programs
// inside reach the permitted hosts, and no others. It does so by a proxy, or by a tool that
// connects the machine's network namespace to the Internet.
//
// The program gets its sockets, and the files that it watches, as open files, so that no other
// program can take them while it starts. It ends with the machine.
package netproxy

import "encoding/json"

// Config is what the program reads from its standard input. The files are those
// that its starter hands on; the first one has the number 3.
type Config struct {
	Ports []Port   `json:"ports,omitempty"`
	Run   int      `json:"run"`             // the folder in which the machine makes its sockets ports/PORT
	Proxy int      `json:"proxy,omitempty"` // a listening socket: the way to Hosts; 0 = there is none
	Hosts []string `json:"hosts,omitempty"` // see [ParseHosts]
	Open  bool     `json:"open,omitempty"`  // the proxy is [Proxy.Open]

	// HostPorts are sockets in the machine and the ports of this computer's loopback that
	// they lead to.
	HostPorts []Port  `json:"host_ports,omitempty"`
	Uplink    *Uplink `json:"uplink,omitempty"` // nil = the machine's network leads nowhere
	Life      []int   `json:"life"`             // process descriptors: when all of them have ended, so does the network proxy
}

// Port leads the connections to a listening socket to a port.
type Port struct {
	Port int `json:"port"`
	File int `json:"file"`
}

// Encode makes the text for the program's standard input.
func (c Config) Encode() []byte {
	data, _ := json.Marshal(c) // numbers and texts: it cannot fail
	return data
}

// Inside is SEER_GATE of docs/protocol.md: what the runtime inside has to do.
type Inside struct {
	Dir       string `json:"dir"`
	Ports     []int  `json:"ports,omitempty"`
	Proxy     string `json:"proxy,omitempty"`
	ProxyPort int    `json:"proxy_port,omitempty"`
	HostPorts []Out  `json:"host_ports,omitempty"`
}

// Out is a port of this computer that the machine reaches at its own loopback, and the
// socket that leads there.
type Out struct {
	Port   int    `json:"port"`
	Socket string `json:"socket"`
}

// ProxyPort is where programs inside find the proxy.
const ProxyPort = 3128
