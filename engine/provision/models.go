package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/modelload"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/sdk"
)

// Models brings models to this computer.
type Models struct {
	Fetcher func(ctx context.Context, source string, folders ...string) (sdk.Fetcher, error)
	Cache   func() (string, error) // the folder for what is downloaded
	Getenv  func(string) string    // of this computer: for the cache of the Hub's clients
	Report  event.Reporter
}

// Fetch finds the files of an experiment's models, brings them to this computer where they
// are not here already, and looks at those that a kernel or an interpreter will load, before
// anything is rented for it.
func (f Models) Fetch(ctx context.Context, exp *experiment.Experiment, planned []plan.Model) ([]machine.Model, error) {
	var models []machine.Model
	for i, m := range exp.Sandbox.Weights() {
		f.Report.Send(event.ModelResolving{Model: m.Name})
		got, err := f.fetch(ctx, m)
		if err == nil {
			err = checkModel(exp, i, got.Dir)
		}
		if err != nil {
			return nil, modelError(exp, i, m, err)
		}
		if n := len(got.Omitted); n > 0 {
			f.Report.Send(event.ModelOmitted{Model: m.Name, Files: n, Bytes: got.OmittedBytes()})
		}
		models = append(models, machine.Model{
			Name: m.Name, Path: planned[i].Path, Source: m.Source, Local: got.Dir, Revision: got.Revision,
			VarName: m.VarName, EnvName: planned[i].Env, Hidden: m.Hidden, IsPEFT: m.IsPEFT, Base: m.BaseModel,
			License: got.License, Gate: got.Gate, Alias: m.Alias(),
		})
		f.Report.Send(event.ModelReady{
			Model: m.Name, Revision: got.Revision, Files: len(got.Files), Bytes: got.Bytes, License: got.License, Gate: got.Gate,
		})
	}
	return models, nil
}

func (f Models) fetch(ctx context.Context, m experiment.Model) (fetch.Model, error) {
	var folders []string
	if m.Path != "" {
		folders = []string{m.Path}
	}
	fetcher, err := f.Fetcher(ctx, m.Source, folders...)
	if err != nil {
		return fetch.Model{}, err
	}
	cache, err := f.Cache()
	if err != nil {
		return fetch.Model{}, err
	}
	hub := ""
	if m.Source == hubcache.Source { // other models need no home folder
		if hub, err = hubcache.Dir(f.Getenv); err != nil {
			return fetch.Model{}, err
		}
	}
	return fetch.Fetch(ctx, fetcher, m.Ref(), fetch.Options{
		CacheDir: cache, HubCache: hub, Folders: folders,
		Progress: func(done, total int64) { f.Report.Copied(event.StageModel, done, total) },
		Notify:   func(n hubcache.Notice) { f.Report.Send(noticeOf(m.Name, n)) },
	})
}

// noticeOf is the event for what the user should know of the cache of the Hub's clients.
func noticeOf(model string, n hubcache.Notice) event.Data {
	switch n.Kind {
	case hubcache.ReadOnly:
		return event.ModelCacheReadOnly{Model: model, Dir: n.Path}
	case hubcache.Copied:
		return event.ModelCacheCopied{Model: model, Dir: n.Path, Bytes: n.Bytes}
	}
	return event.ModelFileMismatch{Model: model, Path: n.Path}
}

// modelField is where the experiment names one of its weights: a base model that is not
// listed itself is named by its adapter.
func modelField(exp *experiment.Experiment, i int) string {
	models := exp.Sandbox.Models
	if i < len(models) {
		return fmt.Sprintf("sandbox.models.%d", i)
	}
	return exp.BaseField(exp.Sandbox.Weights()[i].Name)
}

// modelError says of an error of a model where the experiment has it.
func modelError(exp *experiment.Experiment, i int, m experiment.Model, err error) error {
	var fault *modelload.Fault
	if errors.As(err, &fault) {
		return exp.Errorf(modelField(exp, i), "the model `"+m.Name+"` cannot be loaded: "+fault.Message, fault.Hint)
	}
	return fmt.Errorf("%s: %w", exp.Errorf(modelField(exp, i), "model "+m.Name, "").Error(), err)
}

// checkModel looks at the files of a model that a kernel or an interpreter will load.
func checkModel(exp *experiment.Experiment, i int, dir string) error {
	if !exp.Sandbox.Whole() || exp.Workspace.NoPreload {
		return nil
	}
	models := exp.Sandbox.Models
	return modelload.Check(dir, i < len(models) && models[i].IsPEFT)
}
