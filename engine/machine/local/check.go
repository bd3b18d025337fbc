package local

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/sdk"
)

// check refuses what this provider cannot do.
func check(spec sdk.MachineSpec) error {
	switch {
	case spec.Key == "" || strings.ContainsAny(spec.Key, "\x00\n"):
		return sdk.Errorf(sdk.Invalid, "a machine needs a key")
	case len(spec.Command) == 0:
		return sdk.Errorf(sdk.Invalid, "a machine needs a command")
	case spec.Image != nil && len(spec.Image.PythonPackages) > 0:
		return sdk.Errorf(sdk.Unsupported, "the local provider installs no Python packages into images")
	case spec.Image != nil && spec.Image.Base != "" && spec.Image.Snapshot != "":
		return sdk.Errorf(sdk.Invalid, "a machine starts from an image or from a snapshot, not from both")
	case !slices.Contains([]string{"", openNetwork, hostNetwork, "none", "hosts"}, spec.Network):
		return sdk.Errorf(sdk.Invalid, "unknown network %q; use open, none, host or a list of hosts", spec.Network)
	case (spec.Network == "hosts") != (len(spec.NetworkHosts) > 0):
		return sdk.Errorf(sdk.Invalid, "the network hosts and a list of hosts go together")
	}
	if _, err := netproxy.ParseHosts(spec.NetworkHosts); err != nil {
		return sdk.Errorf(sdk.Invalid, "%v", err)
	}
	return nil
}

// checkPorts refuses ports that somebody has: the sandbox shares this computer's
// network.
func checkPorts(ports []int) error {
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return takenPort(port, err)
		}
		_ = l.Close()
	}
	return nil
}

func takenPort(port int, err error) error {
	return sdk.Errorf(sdk.Invalid, "port %d cannot be used on this computer (%v); choose another one in sandbox.ports, jupyter_port or debug_port", port, err)
}
