// Package ssh runs machines on hosts that the user reaches by SSH: each host runs the provider
// of Seer's own computer, and this package passes the calls on. A handle is HOST/HANDLE.
package ssh

import (
	"context"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "ssh"
	// Version is that of the plugin.
	Version = "0.1.0"
)

// Provider implements [sdk.Provider], [sdk.Router], [sdk.Checker] and [sdk.Cleaner]. It is safe for concurrent use.
type Provider struct{ bare.Hosts }

var _ bare.Provider = (*Provider)(nil)

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
