// Package bare is for providers whose machines are on computers of the user's, with the systems
// that these have.
package bare

import (
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Provider is what such providers can do.
type Provider interface {
	sdk.Provider
	sdk.Router
	sdk.Checker
	sdk.Cleaner
}

// Refused says what no machine of the provider can have; place is what its computers are called.
func Refused(provider, place string, spec sdk.MachineSpec) error {
	switch i := spec.Image; {
	case spec.DiskGB > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider %s reserves no disk: a sandbox has what is free on its %s; remove the key", provider, place)
	case len(spec.Mounts) > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider %s shows no folders of this computer to its machines", provider)
	case i != nil && (i.Snapshot != "" || len(i.SystemPackages)+len(i.PythonPackages)+len(i.Commands) > 0):
		return sdk.Errorf(sdk.Unsupported, "a sandbox of the provider %s cannot change the system of its %s, or start from a saved one; name an image in image.base, or use another provider", provider, place)
	}
	return nil
}

// Options are what the computer of a machine is told of the user's options; see package sshhost of
// the engine.
func Options(volumesDir string) (json.RawMessage, error) {
	if volumesDir == "" {
		return nil, nil
	}
	return json.Marshal(map[string]string{"volumes_dir": volumesDir})
}

// Target is an address of such a computer as the target of an [sdk.SSHRoute].
func Target(url string) (string, bool) {
	if strings.HasPrefix(url, "unix:/") {
		return url, true
	}
	port, ok := strings.CutPrefix(url, "http://127.0.0.1:")
	return "tcp:" + port, ok
}

// Stock says how many nodes of a cluster have what is wanted free. It is never none: what is not
// free can be waited for.
func Stock(free int) sdk.Stock {
	switch {
	case free == 0:
		return sdk.StockUnknown
	case free == 1:
		return sdk.StockLow
	case free < 4:
		return sdk.StockMedium
	}
	return sdk.StockHigh
}

// Away is the entry of a list for a host that does not answer. err names it.
func Away(host, owner string, err error) sdk.Listed {
	return sdk.Listed{Handle: host + "/", Owner: owner, State: sdk.Unreachable, Message: err.Error()}
}
