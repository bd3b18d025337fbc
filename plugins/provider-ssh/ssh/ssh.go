// Package ssh runs machines on hosts that the user reaches by SSH: each host runs the provider
// of Seer's own computer, and this package passes the calls on. A handle is HOST/HANDLE.
package ssh

import (
	"context"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "ssh"
	// Version is that of the plugin.
	Version = "0.1.0"
)

// Provider implements [sdk.Provider], [sdk.Router], [sdk.Checker] and [sdk.Cleaner]. It is safe for concurrent use.
type Provider struct {
	// Settings are the values of the manifest's settings.
	Settings func() (map[string]string, error)
	// Runner runs commands on hosts.
	Runner Runner
}

// Runner runs commands on hosts; see [guestssh.Client], which is one.
type Runner interface {
	Run(ctx context.Context, host string, argv []string, stdin []byte) (guestssh.Result, error)
	Hosts() ([]string, error) // that this plugin has used
}

var (
	_ sdk.Provider = (*Provider)(nil)
	_ sdk.Router   = (*Provider)(nil)
	_ sdk.Checker  = (*Provider)(nil)
	_ sdk.Cleaner  = (*Provider)(nil)
	_ Runner       = guestssh.Client{}
)

// The isolations of the provider on a host.
const (
	auto       = "auto"
	bubblewrap = "bubblewrap"
	gvisor     = "gvisor"
	none       = "none"
)

// Describe implements [sdk.Provider]. Which isolations a host has is known when it is asked:
// auto takes the best of them, and never none.
func (p *Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{
		Name:     Name,
		Title:    "your hosts by SSH",
		Features: []sdk.Feature{sdk.FeatureVolumes, sdk.FeatureSelfEnd, sdk.FeatureGPUShare, sdk.FeatureFree, sdk.FeatureRoutes, sdk.FeatureCheck, sdk.FeatureClean, sdk.FeatureImageFiles},
		Isolations: []sdk.Isolation{
			{Name: auto, Usable: true}, {Name: bubblewrap, Usable: true}, {Name: gvisor, Usable: true}, {Name: none, Usable: true},
		},
	}, nil
}
