package local

import (
	"context"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// Describe tells which isolation works on this computer, and which GPUs it has.
func (p *provider) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info := sdk.ProviderInfo{Name: Name, Title: "this computer", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureHostMounts, sdk.FeatureGPUShare}}
	if p.ImageFiles {
		info.Features = append(info.Features, sdk.FeatureImageFiles)
	}
	rules, err := p.Policy()
	if err != nil {
		return info, err
	}
	for _, kind := range []string{isolation.Bubblewrap, isolation.GVisor} {
		found := sdk.Isolation{Name: kind}
		p.trials.proven.Delete(kind)
		if _, err := p.trials.choose(ctx, kind); err != nil {
			_, found.Reason, _ = strings.Cut(err.Error(), ": ")
			found.Missing = remedy.Has(remedy.Of(err), remedy.FixHost)
		} else {
			p.trials.proven.Store(kind, true)
			found.Usable = true
		}
		info.Isolations = append(info.Isolations, found)
	}
	info.Isolations = append(info.Isolations, sdk.Isolation{Name: isolation.None, Usable: true})
	for i := range info.Isolations {
		if err := rules.Isolation(info.Isolations[i].Name); err != nil {
			info.Isolations[i] = sdk.Isolation{Name: info.Isolations[i].Name, Reason: err.Error()}
		}
	}
	if info.Isolations[1].Usable {
		info.Features = append(info.Features, sdk.FeatureSnapshot)
	}
	if set, err := p.GPUs(ctx); err == nil { // who asks for one is told the error by Offers
		info.GPUs = gpuNames(set)
	}
	return info, nil
}
