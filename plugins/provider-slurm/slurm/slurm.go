// Package slurm runs machines as jobs of Slurm clusters. It runs Slurm's own commands on a login
// node that the user reaches by SSH; in the job Seer's program makes the machine. A handle is
// HOST/JOB/KEY.
package slurm

import (
	"context"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "slurm"
	// Version is that of the plugin.
	Version = "0.1.0"
)

// Provider implements [sdk.Provider], [sdk.Router], [sdk.Checker] and [sdk.Cleaner]. It is safe for concurrent use.
type Provider struct{ bare.Hosts }

var _ bare.Provider = (*Provider)(nil)

// Describe implements [sdk.Provider]. Which isolations there are is known on the node of the job:
// auto takes the best of them, and never none.
func (p *Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{
		Name:     Name,
		Title:    "a Slurm cluster of yours",
		Features: []sdk.Feature{sdk.FeatureVolumes, sdk.FeatureSelfEnd, sdk.FeatureFree, sdk.FeatureRoutes, sdk.FeatureQueue, sdk.FeatureCheck, sdk.FeatureClean, sdk.FeatureImageFiles},
		Isolations: []sdk.Isolation{
			{Name: "auto", Usable: true}, {Name: "bubblewrap", Usable: true}, {Name: "gvisor", Usable: true}, {Name: "none", Usable: true},
		},
	}, nil
}
