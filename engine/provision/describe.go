package provision

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/modelinfo"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

const (
	// describeTime bounds the look at all models and datasets of a plan.
	describeTime = 30 * time.Second
	// looking is how many of them are looked at side by side: each takes some requests in turn.
	looking = 8
)

// Describe looks at the models and datasets of a plan, and brings none of them anywhere: of a
// remote model it reads configurations and headers, some kilobytes, which it keeps by commit.
// What cannot be had or cannot fit is an error; a source that does not answer is a warning of
// the plan. The options say for what context and batch the memory is; a data type of a model
// comes from the experiment.
func (f Models) Describe(ctx context.Context, exp *experiment.Experiment, p *plan.Plan, use modelinfo.Options) error {
	if err := f.look(ctx, exp, p, exp.Sandbox.Fetched(), use); err != nil {
		return err
	}
	return sizeVolumeOfPlan(exp, p)
}

// look is Describe for the first of [experiment.Sandbox.Fetched].
func (f Models) look(ctx context.Context, exp *experiment.Experiment, p *plan.Plan, wanted []experiment.Model, use modelinfo.Options) error {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	var infos []modelinfo.Info
	for i, l := range f.lookAtAll(ctx, wanted, use) {
		m := wanted[i]
		warn := func(problem, hint string) {
			p.Warnings = append(p.Warnings, exp.Errorf(exp.FetchedField(i), problem, hint).Error())
		}
		if code := sdk.CodeOf(l.err); l.err != nil && (code == sdk.Unavailable || code == sdk.RateLimited || ctx.Err() != nil) {
			warn("the "+kindOf(m)+" "+m.Name+" was not looked at: "+l.err.Error(), "plan again later")
			continue
		}
		if l.err != nil {
			return modelError(exp, i, m, l.err)
		}
		if l.facts == nil {
			continue
		}
		if l.facts.Download, l.err = f.download(*p, m, l); l.err != nil {
			return modelError(exp, i, m, l.err)
		}
		if m.Dataset {
			p.Datasets[i-len(p.Models)].Facts = &l.facts.Facts
			continue
		}
		p.Models[i].Facts = l.facts
		if l.unread != nil { // if Seer loads it, a start tells more
			warn("the model "+m.Name+" cannot be looked into: "+l.unread.Error(), "")
		}
		if m.Device != "cpu" {
			infos = append(infos, l.facts.Info)
		}
		concerns(exp, m, l.facts.Info, warn)
	}
	checkDisk(exp, p)
	return f.compare(ctx, exp, p, infos)
}

// looked is what is known of a model or dataset.
type looked struct {
	facts  *plan.ModelFacts // nil = only its fetcher knows the folder
	unread error            // why its files say nothing
	remote *fetch.Remote    // nil = a folder
	err    error
}

// lookAtAll looks at several side by side, and at each even if another one cannot be had.
func (f Models) lookAtAll(ctx context.Context, wanted []experiment.Model, use modelinfo.Options) []looked {
	all := make([]looked, len(wanted))
	var group errgroup.Group
	group.SetLimit(looking)
	for i, m := range wanted {
		group.Go(func() error {
			all[i] = f.lookAt(ctx, m, use)
			return nil
		})
	}
	_ = group.Wait() // none has an error
	return all
}

func (f Models) lookAt(ctx context.Context, m experiment.Model, use modelinfo.Options) (l looked) {
	facts, remote, dir, err := f.describe(ctx, m)
	if err != nil || facts == nil {
		return looked{err: err}
	}
	l.facts, l.remote = &plan.ModelFacts{Facts: *facts}, remote
	if !m.Dataset {
		use.DType = m.DType
		l.facts.Info, l.unread = modelinfo.Read(dir, use)
	}
	return l
}

// checkDisk adds up what models and datasets take, and compares it with the disk that is asked for.
func checkDisk(exp *experiment.Experiment, p *plan.Plan) {
	for _, m := range p.Models {
		if m.Facts != nil {
			p.ModelBytes += m.Facts.Bytes
		}
	}
	for _, d := range p.Datasets {
		if d.Facts != nil {
			p.DatasetBytes += d.Facts.Bytes
		}
	}
	all := p.ModelBytes + p.DatasetBytes
	if disk := int64(p.DiskGB) * 1e9; disk > 0 && all > disk {
		what := "the models"
		if p.DatasetBytes > 0 {
			what = "the models and datasets"
		}
		p.Warnings = append(p.Warnings, exp.Errorf("sandbox.disk", fmt.Sprintf("%s have %s, and the disk has %d GB", what, text.Bytes(all), p.DiskGB), "ask for a larger disk").Error())
	}
}

// outlineKind names the outlines in the cache; another name than before, when they had no headers
// of GGUF.
const outlineKind = "headers"

// describe finds a model or dataset, and returns a folder with the small files of a model. The
// facts are nil if only its fetcher knows the folder.
func (f Models) describe(ctx context.Context, m experiment.Model) (facts *plan.Facts, remote *fetch.Remote, dir string, err error) {
	if m.Source == experiment.SourceFolder {
		facts, err = describeFolder(m.Path)
		return facts, nil, m.Path, err
	}
	fetcher, err := f.fetcher(ctx, m)
	if err != nil {
		return nil, nil, "", err
	}
	answers, err := f.Cache("models")
	if err != nil {
		return nil, nil, "", err
	}
	o := fetch.Options{CacheDir: answers, Offline: f.Offline}
	if m.Source == hubcache.Source {
		o.Offline = cmp.Or(o.Offline, hubcache.Offline(f.Getenv))
	}
	remote, err = o.Find(ctx, fetcher, m.Ref())
	if err != nil || remote == nil {
		return nil, nil, "", err
	}
	facts = &plan.Facts{
		Repo: repoOf(m, remote.Model), Revision: remote.Revision, Files: remote.Files, Bytes: remote.Bytes, License: remote.License, Gate: remote.Gate,
		OmittedBytes: remote.OmittedBytes(),
	}
	if m.Dataset {
		return facts, remote, "", nil
	}
	if o.CacheDir, err = f.Cache("outlines"); err != nil {
		return nil, nil, "", err
	}
	dir, err = remote.Outline(ctx, fetch.OutlineOptions{Options: o, Kind: outlineKind, Whole: modelload.Reads})
	return facts, remote, dir, err
}

func describeFolder(dir string) (*plan.Facts, error) {
	facts := &plan.Facts{Files: []sdk.ModelFile{}}
	return facts, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		facts.Files = append(facts.Files, sdk.ModelFile{Path: filepath.ToSlash(name), Size: info.Size()})
		facts.Bytes += info.Size()
		return err
	})
}

// kindOf is what the user calls it.
func kindOf(m experiment.Model) string {
	if m.Dataset {
		return "dataset"
	}
	return "model"
}

// concerns warns of what may be wrong with a model and is no error.
func concerns(exp *experiment.Experiment, m experiment.Model, info modelinfo.Info, warn func(problem, hint string)) {
	if info.NoTokenizer && loads(exp) {
		warn("the model "+m.Name+" has no tokenizer", "load one in workspace.init, or choose a repository that has it")
	}
	switch {
	case info.Adapter && !m.IsPEFT:
		base := cmp.Or(info.Base, "a model that it does not name")
		entry := fmt.Sprintf("{name: %s, is_peft: true, base_model: %s}", m.Name, cmp.Or(info.Base, "BASE"))
		warn("the model "+m.Name+" is an adapter of "+base+", and the experiment lists it as a whole model", "write "+entry)
	case info.Adapter && !modelinfo.SameBase(info.Base, m.BaseModel):
		warn(fmt.Sprintf("the adapter %s was trained on %s, and base_model is %s", m.Name, info.Base, m.BaseModel), "check base_model")
	}
}
