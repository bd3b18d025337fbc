package provision

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const (
	// describeTime bounds the look at all models of a plan.
	describeTime = 30 * time.Second
	// beside is what CUDA and the work need on a GPU beside weights and cache, at least.
	beside = 1 << 30
)

// Describe looks at the models of a plan, and brings none of them anywhere: of a remote one it
// reads configurations and headers, some kilobytes, which it keeps by commit. A model that cannot
// be had or cannot fit is an error; a source that does not answer is a warning of the plan.
func (f Models) Describe(ctx context.Context, exp *experiment.Experiment, p *plan.Plan) error {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	var infos []modelinfo.Info
	for i, m := range exp.Sandbox.Weights() {
		facts, dir, err := f.describe(ctx, m)
		if code := sdk.CodeOf(err); err != nil && (code == sdk.Unavailable || code == sdk.RateLimited || ctx.Err() != nil) {
			p.Warnings = append(p.Warnings, exp.Errorf(exp.FetchedField(i), "the model "+m.Name+" was not looked at: "+err.Error(), "plan again later").Error())
			continue
		}
		if err != nil {
			return modelError(exp, i, m, err)
		}
		if dir == "" { // a folder that only its fetcher knows
			continue
		}
		if facts.Info, err = modelinfo.Read(dir, m.DType); err != nil { // if Seer loads it, a start tells more
			p.Warnings = append(p.Warnings, exp.Errorf(exp.FetchedField(i), "the model "+m.Name+" cannot be looked into: "+err.Error(), "").Error())
		}
		p.Models[i].Facts = &facts
		if m.Device != "cpu" {
			infos = append(infos, facts.Info)
		}
		p.Warnings = append(p.Warnings, concerns(exp, i, m, facts.Info)...)
	}
	for _, m := range p.Models {
		if m.Facts != nil {
			p.ModelBytes += m.Facts.Bytes
		}
	}
	if disk := int64(p.DiskGB) * 1e9; disk > 0 && p.ModelBytes > disk {
		p.Warnings = append(p.Warnings, exp.Errorf("sandbox.disk", fmt.Sprintf("the models have %s, and the disk has %d GB", text.Bytes(p.ModelBytes), p.DiskGB), "ask for a larger disk").Error())
	}
	return f.compare(ctx, exp, p, infos)
}

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

// describe finds a model, and returns a folder with its small files.
func (f Models) describe(ctx context.Context, m experiment.Model) (facts plan.ModelFacts, dir string, err error) {
	if m.Source == experiment.SourceFolder {
		facts, err = describeFolder(m.Path)
		return facts, m.Path, err
	}
	fetcher, err := f.fetcher(ctx, m)
	if err != nil {
		return facts, "", err
	}
	answers, err := f.Cache("models")
	if err != nil {
		return facts, "", err
	}
	o := fetch.Options{CacheDir: answers, Offline: f.Offline}
	if m.Source == hubcache.Source {
		o.Offline = cmp.Or(o.Offline, hubcache.Offline(f.Getenv))
	}
	remote, err := o.Find(ctx, fetcher, m.Ref())
	if err != nil || remote == nil {
		return facts, "", err
	}
	if o.CacheDir, err = f.Cache("outlines"); err != nil {
		return facts, "", err
	}
	facts = plan.ModelFacts{
		Revision: remote.Revision, Files: len(remote.Files), Bytes: remote.Bytes, License: remote.License, Gate: remote.Gate,
		OmittedBytes: remote.OmittedBytes(),
	}
	dir, err = remote.Outline(ctx, fetch.OutlineOptions{Options: o, Kind: "shown", Whole: modelload.Reads})
	return facts, dir, err
}

func describeFolder(dir string) (facts plan.ModelFacts, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			facts.Files, facts.Bytes = facts.Files+1, facts.Bytes+info.Size()
		}
		return err
	})
	return facts, err
}

// loads reports whether Seer loads the models itself. Otherwise an interface may load them in
// other ways, such as quantized.
func loads(exp *experiment.Experiment) bool { return exp.Sandbox.Whole() && !exp.Workspace.NoPreload }

// concerns are what may be wrong with a model and is no error.
func concerns(exp *experiment.Experiment, i int, m experiment.Model, info modelinfo.Info) (warnings []string) {
	if info.NoTokenizer && loads(exp) {
		warnings = append(warnings, exp.Errorf(exp.FetchedField(i), "the model "+m.Name+" has no tokenizer", "load one in workspace.init, or choose a repository that has it").Error())
	}
	if info.Adapter && m.IsPEFT && !modelinfo.SameBase(info.Base, m.BaseModel) {
		warnings = append(warnings, exp.Errorf(exp.FetchedField(i), fmt.Sprintf("the adapter %s was trained on %s, and base_model is %s", m.Name, info.Base, m.BaseModel), "check base_model").Error())
	}
	return warnings
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
	var weights, all int64
	for _, i := range infos {
		weights, all = weights+i.WeightBytes, all+i.GPUBytes()
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
		f.warnings = append(f.warnings, exp.Errorf("sandbox.gpu", fmt.Sprintf("the models need about %s on the GPU (weights %s, cache for a context of up to %d tokens %s, and %s for CUDA), and %s",
			text.Bytes(f.need), text.Bytes(weights), modelinfo.Tokens, text.Bytes(all-weights), text.Bytes(beside), size), "choose a larger GPU, or a shorter context"+names).Error())
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
	err := f.Describe(ctx, exp, &p)
	for _, w := range p.Warnings {
		f.Report.Send(event.PreflightWarning{Message: w})
	}
	return err
}
