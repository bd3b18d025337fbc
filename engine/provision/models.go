package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/sdk"
)

// Models finds models, and brings them to this computer where they are needed here.
type Models struct {
	Fetcher func(ctx context.Context, source string, folders ...string) (sdk.Fetcher, error)
	Cache   func(folder string) (string, error) // a folder for what is downloaded
	Getenv  func(string) string                 // of this computer: for the cache of the Hub's clients
	Report  event.Reporter

	Manifests models.Manifests // of what is found

	// Offers asks a provider what it has, to name GPUs that models fit on; nil = nobody is asked.
	Offers func(ctx context.Context, provider string, q sdk.OfferQuery) ([]sdk.Offer, error)
	// Suggest names GPUs also if the models fit on those that were chosen.
	Suggest bool
	// Offline is why no source may be asked; empty = they may be.
	Offline string
}

// RemoteModel is a model that the machine downloads by itself. Local of its [machine.Model] is
// what [fetch.Remote.Outline] has made of it, or empty if nobody looks at that.
type RemoteModel struct {
	*fetch.Remote
	Bring func(ctx context.Context) (dir string, err error) // to this computer
}

// Fetch finds the files of an experiment's models and datasets, and looks at the models that a
// kernel or an interpreter will load, before anything is rented for it. If the machine may be
// one of this computer, or cannot download a model, it brings that here, and the model's place
// among the remote ones is nil.
func (f Models) Fetch(ctx context.Context, exp *experiment.Experiment, p plan.Plan) ([]machine.Model, []*RemoteModel, error) {
	if err := f.checkFit(ctx, exp, p); err != nil {
		return nil, nil, err
	}
	var all []machine.Model
	var remotes []*RemoteModel
	for i, m := range exp.Sandbox.Fetched() {
		f.Report.Send(event.ModelResolving{Model: m.Name})
		got, remote, err := f.find(ctx, exp, m, p)
		if err == nil && got.Dir != "" {
			err = checkModel(exp, i, got.Dir)
		}
		if err != nil {
			return nil, nil, modelError(exp, i, m, err)
		}
		if n := len(got.Omitted); n > 0 {
			f.Report.Send(event.ModelOmitted{Model: m.Name, Files: n, Bytes: got.OmittedBytes()})
		}
		manifest, err := f.Manifests.Keep(models.Of(got))
		if err != nil {
			return nil, nil, fmt.Errorf("keep the list of the files of %s: %w", m.Name, err)
		}
		remotes = append(remotes, remote)
		all = append(all, machine.Model{
			Name: m.Name, Path: m.SandboxPath(), Source: m.Source, Local: got.Dir, Revision: got.Revision,
			VarName: m.VarName, EnvName: m.EnvName(), Hidden: m.Hidden, IsPEFT: m.IsPEFT, Base: m.BaseModel,
			License: got.License, Gate: got.Gate, Alias: m.Alias(), Dataset: m.Dataset, Ref: m.Revision, Repo: repoOf(m, got), Absent: absent(m, got), Manifest: manifest,
		})
		f.Report.Send(event.ModelReady{
			Model: m.Name, Revision: got.Revision, Files: len(got.Files), Bytes: got.Bytes, License: got.License, Gate: got.Gate,
		})
	}
	return all, remotes, nil
}

// repoOf is the Hub's name of what was fetched; empty = it is not of the Hub.
func repoOf(m experiment.Model, got fetch.Model) string {
	if m.Source != experiment.SourceHub {
		return ""
	}
	return got.Name
}

// find finds a model, and brings it here if that is needed. Otherwise the folder is its
// outline, or empty if nobody looks at that.
func (f Models) find(ctx context.Context, exp *experiment.Experiment, m experiment.Model, p plan.Plan) (fetch.Model, *RemoteModel, error) {
	here := func(c plan.Choice) bool { return c.HostMounts }
	if m.Source == experiment.SourceFolder || slices.ContainsFunc(p.Choices, here) {
		got, err := f.fetch(ctx, m)
		return got, nil, err
	}
	fetcher, err := f.fetcher(ctx, m)
	if err != nil {
		return fetch.Model{}, nil, err
	}
	answers, err := f.Cache("models")
	if err != nil {
		return fetch.Model{}, nil, err
	}
	remote, err := fetch.Options{CacheDir: answers}.Find(ctx, fetcher, m.Ref())
	if err != nil {
		return fetch.Model{}, nil, err
	}
	if remote == nil || p.Network != "open" { // a machine without a network cannot download
		if remote != nil {
			f.Report.Send(event.ModelThroughHere{Model: m.Name, Reason: "the network of the sandbox is " + p.Network})
		}
		got, err := f.fetch(ctx, m)
		return got, nil, err
	}
	got := remote.Model
	got.Dir, err = f.outline(ctx, exp, m, remote)
	return got, &RemoteModel{remote, func(ctx context.Context) (string, error) {
		here, err := f.fetch(ctx, m)
		return here.Dir, err
	}}, err
}

// outline is what this computer looks at of a model that the machine downloads.
func (f Models) outline(ctx context.Context, exp *experiment.Experiment, m experiment.Model, remote *fetch.Remote) (string, error) {
	if m.Dataset || !exp.Sandbox.Whole() || exp.Workspace.NoPreload && !m.Hidden {
		return "", nil
	}
	cache, err := f.Cache("outlines")
	if err != nil {
		return "", err
	}
	o := fetch.OutlineOptions{Options: fetch.Options{CacheDir: cache, Progress: f.progress}, Kind: outlineKind, Whole: modelload.Reads}
	if m.Hidden { // its texts are searched, and changed
		o.Kind, o.Whole = "hidden", func(file string) bool { return !strings.HasSuffix(file, weightsFile) }
	}
	return remote.Outline(ctx, o)
}

func (f Models) progress(p fetch.Progress) { f.Report.Send(models.Copied(p)) }

func (f Models) fetcher(ctx context.Context, m experiment.Model) (sdk.Fetcher, error) {
	return f.Fetcher(ctx, m.Source, folders(m)...)
}

// folders are those of this computer that a model may be in.
func folders(m experiment.Model) []string {
	if m.Path == "" {
		return nil
	}
	return []string{m.Path}
}

// fetch brings a model here.
func (f Models) fetch(ctx context.Context, m experiment.Model) (fetch.Model, error) {
	getter := models.Getter{
		Fetcher: f.Fetcher, Cache: func() (string, error) { return f.Cache("models") }, Getenv: f.Getenv, Report: f.Report,
	}
	return getter.Get(ctx, m.Name, m.Ref())
}

// modelError says of an error of a model where the experiment has it.
func modelError(exp *experiment.Experiment, i int, m experiment.Model, err error) error {
	var fault *modelload.Fault
	if errors.As(err, &fault) {
		return exp.Errorf(exp.FetchedField(i), "the model `"+m.Name+"` cannot be loaded: "+fault.Message, fault.Hint)
	}
	what := "model "
	if m.Dataset {
		what = "dataset "
	}
	return fmt.Errorf("%s: %w", exp.Errorf(exp.FetchedField(i), what+m.Name, "").Error(), err)
}

// checkModel looks at the files of a model that a kernel or an interpreter will load.
func checkModel(exp *experiment.Experiment, i int, dir string) error {
	if !exp.Sandbox.Whole() || exp.Workspace.NoPreload || i >= len(exp.Sandbox.Weights()) {
		return nil
	}
	models := exp.Sandbox.Models
	return modelload.Check(dir, i < len(models) && models[i].IsPEFT)
}
