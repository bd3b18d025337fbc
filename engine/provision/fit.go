package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// beside is what CUDA and the work need on a GPU beside weights and cache, at least.
const beside = 1 << 30

// loads reports whether Seer loads the models itself. Otherwise an interface may load them in
// other ways, such as quantized.
func loads(exp *experiment.Experiment) bool { return exp.Sandbox.Whole() && !exp.Workspace.NoPreload }

// compare says whether the models fit on the GPUs that were chosen, and which other ones they fit on.
func (f Models) compare(ctx context.Context, exp *experiment.Experiment, p *plan.Plan, infos []modelinfo.Info) error {
	short := fits(exp, *p, infos, "")
	if len(short.warnings) == 0 && short.err == nil && !f.Suggest || short.need == 0 || f.Offers == nil || f.Offline != "" {
		p.Warnings = append(p.Warnings, short.warnings...)
		return short.err
	}
	p.GPUsThatFit = f.fitting(ctx, exp, *p, short.need)
	said := fits(exp, *p, infos, plan.GPUNames(p.GPUsThatFit))
	p.Warnings = append(p.Warnings, said.warnings...)
	return said.err
}

// mostFitting is how many GPUs are named.
const mostFitting = 5

// fitting are the GPUs with so many bytes of memory that the providers of a plan have now, each
// at its lowest price, the cheapest first. A provider that does not answer has none: that it was
// asked before is why its machine is in the plan.
func (f Models) fitting(ctx context.Context, exp *experiment.Experiment, p plan.Plan, need int64) (all []plan.FittingGPU) {
	asked := map[string]bool{}
	s := exp.Sandbox
	for _, c := range p.Choices {
		if c.GPU == "" || c.HostMounts || asked[c.Provider] {
			continue
		}
		asked[c.Provider] = true
		found, err := f.Offers(ctx, c.Provider, sdk.OfferQuery{GPU: gpu.Any, GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, DiskGB: s.DiskGB, Regions: s.Regions, Options: c.Options})
		if err != nil {
			continue
		}
		for _, o := range found {
			if has := o.GPUMemoryGB * float64(max(1, o.GPUCount)) * (1 << 30); int64(has) >= need && o.CostPerHour > 0 && o.Stock != sdk.StockNone {
				all = append(all, plan.FittingGPU{Provider: c.Provider, GPU: o.GPU, GPUCount: max(1, o.GPUCount), GPUMemoryGB: o.GPUMemoryGB, CostPerHour: o.CostPerHour})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b plan.FittingGPU) int { return cmp.Compare(a.CostPerHour, b.CostPerHour) })
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(g plan.FittingGPU) bool {
		again := seen[g.Provider+" "+g.GPU]
		seen[g.Provider+" "+g.GPU] = true
		return again
	})
	return all[:min(len(all), mostFitting)]
}

// fit is how models compare with GPUs.
type fit struct {
	need     int64 // bytes on the GPUs; 0 = not known
	warnings []string
	err      error
}

// fits compares what the models need with the GPUs of all choices whose memory is known. Weights
// that cannot fit are an error if Seer loads them. The names are those of GPUs that are enough.
func fits(exp *experiment.Experiment, p plan.Plan, infos []modelinfo.Info, names string) (f fit) {
	var weights, all, tokens, batch int64
	for _, i := range infos {
		weights, all = weights+i.WeightBytes, all+i.GPUBytes()
		tokens, batch = max(tokens, i.CacheTokens), max(batch, i.CacheBatch)
	}
	if weights == 0 {
		return f
	}
	f.need = all + beside
	if names != "" {
		names = "; these are enough: " + names
	}
	told := map[string]bool{}
	for _, c := range p.Choices {
		has := int64(c.GPUMemoryGB * float64(max(1, c.GPUCount)) * (1 << 30))
		if has == 0 || told[c.GPU] || f.need <= has {
			continue
		}
		told[c.GPU] = true
		size := fmt.Sprintf("%d × %s has %s", max(1, c.GPUCount), c.GPU, text.Bytes(has))
		if weights > has && loads(exp) {
			f.err = exp.Errorf("sandbox.gpu", fmt.Sprintf("the weights of the models need %s on the GPU, and %s", text.Bytes(weights), size),
				"choose a larger GPU, more of them, or a smaller or quantized model"+names)
			return f
		}
		f.warnings = append(f.warnings, exp.Errorf("sandbox.gpu", fmt.Sprintf("the models need about %s on the GPU (weights %s, cache for a context of up to %d tokens and a batch of %d %s, and %s for CUDA), and %s",
			text.Bytes(f.need), text.Bytes(weights), tokens, batch, text.Bytes(all-weights), text.Bytes(beside), size), "choose a larger GPU, a shorter context or a smaller batch"+names).Error())
	}
	return f
}

// checkFit looks at the models before any of them is fetched, if the memory of a GPU is known.
func (f Models) checkFit(ctx context.Context, exp *experiment.Experiment, p plan.Plan) error {
	known := func(c plan.Choice) bool { return c.GPUMemoryGB > 0 }
	if !loads(exp) || !slices.ContainsFunc(p.Choices, known) {
		return nil
	}
	p.Models, p.Warnings = slices.Clone(p.Models), nil
	err := f.look(ctx, exp, &p, exp.Sandbox.Weights(), modelinfo.Options{})
	for _, w := range p.Warnings {
		f.Report.Send(event.PreflightWarning{Message: w})
	}
	return err
}
