package start

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/sdk/gpu"
)

// planGPUs says who uses the GPUs of this computer that the experiment may get.
func (s *Starter) planGPUs(ctx context.Context, p *plan.Plan) {
	at := slices.IndexFunc(p.Choices, func(c plan.Choice) bool { return c.GPU != "" && c.HostMounts })
	if at < 0 {
		return
	}
	provider, err := s.Plugins.Provider(ctx, p.Choices[at].Provider)
	gpus, ok := provider.(local.GPUs)
	if err != nil || !ok {
		return
	}
	spec := p.Spec(p.Choices[at])
	uses, picked, err := gpus.GPUUses(ctx, spec)
	if err != nil {
		p.NotChecked = append(p.NotChecked, "who uses the GPUs: "+err.Error())
		return
	}
	for i, u := range uses {
		if gpu.Match(spec.GPU, u.Name) {
			p.GPUs = append(p.GPUs, plan.GPUUse{
				Label: u.Label(), UUID: u.UUID, Taken: slices.Contains(picked, i), UsedBy: u.By(),
				FreeMemory: float64(u.Free()) / (1 << 30), TotalMemory: float64(u.Memory) / (1 << 30),
			})
		}
	}
}

// withHolders adds to the error of a GPU whose memory was full who uses that memory now. What
// was started has ended by then.
func (p *preparation) withHolders(ctx context.Context, err error) error {
	var fault *experiment.LoadFault
	if !errors.As(err, &fault) || !fault.GPUFull() {
		return err
	}
	now := p.plan
	now.GPUs = nil
	p.planGPUs(ctx, &now)
	for _, g := range now.GPUs {
		err = fmt.Errorf("%w\n%s", err, g)
	}
	return err
}
