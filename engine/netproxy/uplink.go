package netproxy

// Uplink is a network namespace that the network proxy connects to the Internet, but not to this
// computer.
type Uplink struct {
	Namespace int    `json:"namespace"` // an open file: the namespace
	PID       int    `json:"pid"`       // a process in it
	Tool      string `json:"tool"`      // what [DetectUplink] returned
	Ready     int    `json:"ready"`     // a pipe; see [Connected]
}

// Connected is what the network proxy writes to [Uplink.Ready] once the namespace is connected. It
// writes what failed instead, and ends.
const Connected = "connected\n"

// Nameserver is the name server in a connected namespace. It asks those of this computer.
const Nameserver = "169.254.1.3"

// The programs that can connect a namespace, best first.
const (
	pasta = "pasta"
	slirp = "slirp4netns"
)

// device is the interface in a connected namespace.
const device = "seer0"

// arguments of a tool whose standard input is the namespace. It maps no address and no
// port of this computer, and nothing of the namespace is reached through it.
func arguments(tool string) []string {
	if tool == slirp {
		return []string{"--configure", "--mtu=65520", "--disable-host-loopback", "--enable-seccomp", "--cidr=169.254.1.0/24",
			"--netns-type=path", "/proc/self/fd/0", device}
	}
	return []string{"--foreground", "--quiet", "--runas", "0", "--config-net", "--no-map-gw", "-t", "none", "-u", "none", "-T", "none", "-U", "none",
		"--dns-forward", Nameserver, "--ns-ifname", device, "--no-netns-quit", "--netns-only", "--netns", "/proc/self/fd/0"}
}
