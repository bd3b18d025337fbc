package blinding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/workspace"
)

// largestEarly bounds the files that are searched before anything is rented. Larger ones
// are searched where they have been copied to.
const largestEarly = 64 << 20

// Given is what an experiment gives to its agent.
type Given struct {
	Experiment *experiment.Experiment
	Models     []machine.Model
	Prompt     string // what the prompt says about the sandbox
	Name       string // of the sandbox
	Workspace  workspace.Workspace

	// Unsearched is for tests that show what the search is good for: it finds nothing.
	Unsearched bool
}

// Search looks for names in what is given, before anything is rented. It is an error of
// [errdefs.KindConfig] that has a [HiddenError] when one is found.
func (g Given) Search(ctx context.Context, names namesearch.Names) error {
	if names.Empty() || g.Unsearched {
		return nil
	}
	places := FindIn(ctx, names, g.texts())
	files := g.Workspace.Plan(workspace.Kind(g.Experiment.Sandbox.ExecutionMode))
	for _, f := range append(files.Sandbox, files.Agent...) {
		place, err := searchFile(ctx, names, f)
		if err != nil {
			return err
		}
		if place != "" {
			places = append(places, place)
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return Found("what the experiment gives to the agent", places)
}

// Check adds to the report that names of hidden models are in what is given. It is for an
// experiment whose models are not fetched yet, so it ignores Models. Of a model that is no
// folder, the words of its architecture are not known yet, which may be told: then the
// finding is a warning.
func (g Given) Check(ctx context.Context, report *preflight.Report) error {
	first, unknown := -1, false
	g.Models = nil
	for i, m := range g.Experiment.Sandbox.Weights() {
		if m.Hidden && first < 0 {
			first = i
		}
		unknown = unknown || m.Hidden && m.Path == ""
		g.Models = append(g.Models, machine.Model{Name: m.Name, Source: m.Source, Local: m.Path, VarName: m.VarName, Hidden: m.Hidden})
	}
	if first < 0 {
		return nil
	}
	err := g.Search(ctx, Names(g.Models))
	var found *HiddenError
	if !errors.As(err, &found) {
		return err
	}
	severity := preflight.SeverityError
	if unknown {
		severity = preflight.SeverityWarning
	}
	at := g.Experiment.Errorf(fmt.Sprintf("sandbox.models.%d.hidden", first), found.Error(), "")
	report.Findings = append(report.Findings, preflight.Finding{Severity: severity, Error: *at})
	return nil
}

// Hide searches what is given for names. Where the agent has the whole sandbox, it puts
// copies without the names in the place of the models' folders; what their architectures
// tell anyway is reported.
func (g Given) Hide(ctx context.Context, names namesearch.Names, copies Copies, report event.Reporter) error {
	for _, name := range names.Common {
		report.Send(event.HiddenNameCommon{Name: name})
	}
	if err := g.Search(ctx, names); err != nil || !g.Experiment.Sandbox.Whole() {
		return err
	}
	for _, name := range names.Revealed {
		report.Send(event.HiddenNameShown{Name: name})
	}
	if words := names.Shown; len(words) > 0 {
		report.Send(event.HiddenArchitecture{Words: words})
	}
	for i := range g.Models {
		m := &g.Models[i]
		if !m.Hidden {
			continue
		}
		dir, made, err := copies.Of(ctx, m.Local, names)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		m.Local = dir
		if len(made.Dropped) > 0 {
			report.Send(event.HiddenValuesRemoved{Model: m.Name, Values: made.Dropped})
		}
	}
	return nil
}

// texts are what the agent reads of the experiment, by what it is.
func (g Given) texts() map[string]string {
	var variables, services []string
	for _, m := range g.Models {
		if m.Hidden {
			variables = append(variables, m.VarName)
		}
	}
	for _, s := range g.Experiment.Serve {
		services = append(services, s.Name)
	}
	texts := map[string]string{
		"the prompt": g.Prompt, "workspace.init": g.Experiment.Workspace.Init, "the name of the sandbox": g.Name,
		"var_name of a model": strings.Join(variables, "\n"), "name of serve": strings.Join(services, "\n"),
	}
	if g.Experiment.Sandbox.Whole() {
		texts["sandbox.python_packages"] = strings.Join(g.Experiment.Sandbox.PythonPackages, "\n")
		texts["the environment (sandbox.env)"] = namesearch.Variables(g.Experiment.Sandbox.Env)
	}
	if a := g.Experiment.Agent; a != nil {
		texts["agent.prompt"], texts["agent.command"], texts["agent.env"] = a.Prompt, strings.Join(a.Command, "\n"), namesearch.Variables(a.Env)
	}
	return texts
}

// FindIn names the texts that have a name, in order.
func FindIn(ctx context.Context, names namesearch.Names, texts map[string]string) (places []string) {
	for _, where := range slices.Sorted(maps.Keys(texts)) {
		if form, found := names.Find(ctx, []byte(texts[where])); found {
			places = append(places, namesearch.Place(where, form))
		}
	}
	return places
}

// searchFile says where a file of the workspace has a name; "" = nowhere.
func searchFile(ctx context.Context, names namesearch.Names, f workspace.File) (place string, err error) {
	if _, found := names.Find(ctx, []byte(f.Path)); found {
		return "the name of " + f.Path, nil
	}
	if f.Size > largestEarly {
		return "", nil
	}
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, largestEarly))
	if err != nil {
		return "", err
	}
	form, found := names.Find(ctx, data)
	if !found {
		return "", nil
	}
	return namesearch.Place("the file "+f.Path, form), nil
}
