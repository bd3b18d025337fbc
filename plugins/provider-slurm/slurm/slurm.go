// Package slurm runs machines as jobs of Slurm clusters. It runs Slurm's own commands on a login
// node that the user reaches by SSH; in the job Seer's program makes the machine. A handle is
// HOST/JOB/KEY.
package slurm

import (
	"context"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "slurm"
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
