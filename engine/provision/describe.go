package provision

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
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
	warnings, err := fits(exp, *p, infos)
	p.Warnings = append(p.Warnings, warnings...)
	return err
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
	remote, err := fetch.Find(ctx, fetcher, m.Ref())
	if err != nil || remote == nil {
		return facts, "", err
	}
	cache, err := f.Cache("outlines")
	if err != nil {
		return facts, "", err
	}
	facts = plan.ModelFacts{
		Revision: remote.Revision, Files: len(remote.Files), Bytes: remote.Bytes, License: remote.License, Gate: remote.Gate,
		OmittedBytes: remote.OmittedBytes(),
	}
	dir, err = remote.Outline(ctx, fetch.OutlineOptions{Options: fetch.Options{CacheDir: cache}, Kind: "shown", Whole: modelload.Reads})
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

// fits compares what the models need with the GPUs of all choices whose memory is known. Weights
// that cannot fit are an error if Seer loads them.
func fits(exp *experiment.Experiment, p plan.Plan, infos []modelinfo.Info) (warnings []string, err error) {
	var weights, all int64
	for _, i := range infos {
		weights, all = weights+i.WeightBytes, all+i.GPUBytes()
	}
	told := map[string]bool{}
	for _, c := range p.Choices {
		has := int64(c.GPUMemoryGB * float64(max(1, c.GPUCount)) * (1 << 30))
		if has == 0 || weights == 0 || told[c.GPU] || all+beside <= has {
			continue
		}
		told[c.GPU] = true
		size := fmt.Sprintf("%d × %s has %s", max(1, c.GPUCount), c.GPU, text.Bytes(has))
		if weights > has && loads(exp) {
			return warnings, exp.Errorf("sandbox.gpu", fmt.Sprintf("the weights of the models need %s on the GPU, and %s", text.Bytes(weights), size),
				"choose a larger GPU, more of them, or a smaller or quantized model")
		}
		warnings = append(warnings, exp.Errorf("sandbox.gpu", fmt.Sprintf("the models need about %s on the GPU (weights %s, cache for a context of up to %d tokens %s, and %s for CUDA), and %s",
			text.Bytes(all+beside), text.Bytes(weights), modelinfo.Tokens, text.Bytes(all-weights), text.Bytes(beside), size), "choose a larger GPU, or a shorter context").Error())
	}
	return warnings, nil
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
