package start_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/sdk"
)

// gpus is a provider whose only GPU a sandbox of alice has.
type gpus struct {
	sdk.Provider
	local.GPUs
}

func (gpus) GPUUses(context.Context, sdk.MachineSpec) ([]gpulease.Use, []int, error) {
	const gib = 1 << 30
	alice := gpulease.Claimed{Owner: gpulease.Owner{User: "alice", Sandbox: "lab"}, Bytes: 60 * gib}
	return []gpulease.Use{{GPU: gpulease.GPU{Name: "H100-SXM", Memory: 80 * gib}, Claims: []gpulease.Claimed{alice}}}, nil, nil
}

// TestGPUIsFull: the error says who has the memory.
func TestGPUIsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Plugins = registry.New(registry.Options{
		State: r.Store, Paths: r.Paths, LookupEnv: r.Starter.LookupEnv, Now: r.Now, Logger: r.Logger, Providers: map[string]sdk.Provider{"cloud": gpus{}},
	})
	made := plan.Plan{Choices: []plan.Choice{{Provider: "cloud", GPU: "H100-SXM", HostMounts: true}}}
	exp := r.experiment(t, "  models: [{name: ./m, var_name: m}]\n")
	for _, c := range []struct{ said, want string }{
		{"torch.OutOfMemoryError: CUDA out of memory.", "GPU 0 (H100-SXM), 21.5 GB of 85.9 GB free, used by: sandbox lab of alice has 64.4 GB"},
		{"ValueError: no", ""},
	} {
		err := exp.ExplainLoad(errors.New("it fails"), "the set-up 'model m' has failed:\n"+c.said)
		got := r.WithHolders(t.Context(), made, err).Error()
		if added := strings.TrimPrefix(strings.TrimPrefix(got, err.Error()), "\n"); added != c.want {
			t.Errorf("%s: got %q, not %q", c.said, added, c.want)
		}
	}
}
