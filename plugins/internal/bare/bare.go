// Package bare is for providers whose machines are on computers of the user's, with the systems
// that these have.
package bare

import (
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Refused says what no machine of the provider can have; place is what its computers are called.
func Refused(provider, place string, spec sdk.MachineSpec) error {
	switch i := spec.Image; {
	case len(spec.Volumes) > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider %s has no volumes; remove the key, or use another provider", provider)
	case spec.DiskGB > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider %s reserves no disk: a sandbox has what is free on its %s; remove the key", provider, place)
	case len(spec.Mounts) > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider %s shows no folders of this computer to its machines", provider)
	case i != nil && (i.Base != "" || i.Snapshot != "" || len(i.SystemPackages)+len(i.PythonPackages)+len(i.Commands) > 0):
		return sdk.Errorf(sdk.Unsupported, "a sandbox of the provider %s has the system of its %s; remove sandbox.image, or use another provider", provider, place)
	}
	return nil
}

// Target is an address of such a computer as the target of an [sdk.SSHRoute].
func Target(url string) (string, bool) {
	if strings.HasPrefix(url, "unix:/") {
		return url, true
	}
	port, ok := strings.CutPrefix(url, "http://127.0.0.1:")
	return "tcp:" + port, ok
}
