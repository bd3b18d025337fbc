package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/workspace"
)

// largestEarly bounds the files that are searched before anything is rented. Larger ones
// are searched where they have been copied to.
const largestEarly = 64 << 20

// searchTexts looks for the names of hidden models in what the experiment gives to its
// agent, before anything is rented. It is an error of [KindConfig] when one is found.
func (u *up) searchTexts(ctx context.Context) error {
	if u.hidden.Empty() || u.engine.blinding.unsearched {
		return nil
	}
	places := textsWith(ctx, u.hidden, u.texts())
	files := u.contents.Plan(workspace.Kind(u.exp.Sandbox.ExecutionMode))
	for _, f := range append(files.Sandbox, files.Agent...) {
		place, err := u.searchFile(ctx, f)
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
	return foundHidden("what the experiment gives to the agent", places)
}

// tellsHidden finds the names of hidden models in what the experiment gives to its agent.
// Of a model that is no folder, only the name is known yet, not its architecture.
func (e *Engine) tellsHidden(ctx context.Context, exp *experiment.Experiment, report *preflight.Report) error {
	u := &up{engine: e, exp: exp}
	first := -1
	for i, m := range exp.Sandbox.Weights() {
		if m.Hidden && first < 0 {
			first = i
		}
		u.models = append(u.models, machine.Model{Name: m.Name, Source: m.Source, Local: m.Path, VarName: m.VarName, Hidden: m.Hidden})
	}
	if first < 0 {
		return nil
	}
	u.hidden = hiddenNames(u.models)
	if err := u.readWorkspace(); err != nil {
		return err
	}
	err := u.searchTexts(ctx)
	var found *HiddenError
	if errors.As(err, &found) {
		at := exp.Errorf(fmt.Sprintf("sandbox.models.%d.hidden", first), found.Error(), "")
		report.Findings = append(report.Findings, preflight.Finding{Severity: preflight.SeverityError, Error: *at})
		return nil
	}
	return err
}

// texts are what the agent reads of the experiment, by what it is.
func (u *up) texts() map[string]string {
	var variables, services []string
	for _, m := range u.models {
		if m.Hidden {
			variables = append(variables, m.VarName)
		}
	}
	for _, s := range u.exp.Serve {
		services = append(services, s.Name)
	}
	texts := map[string]string{
		"the prompt": u.prompt(), "workspace.init": u.exp.Workspace.Init, "the name of the sandbox": u.opts.Name,
		"var_name of a model": strings.Join(variables, "\n"), "name of serve": strings.Join(services, "\n"),
	}
	if u.exp.Sandbox.Whole() {
		texts["sandbox.python_packages"] = strings.Join(u.exp.Sandbox.PythonPackages, "\n")
		texts["the environment (sandbox.env)"] = variablesText(u.exp.Sandbox.Env)
	}
	if a := u.exp.Agent; a != nil {
		texts["agent.prompt"], texts["agent.command"], texts["agent.env"] = a.Prompt, strings.Join(a.Command, "\n"), variablesText(a.Env)
	}
	return texts
}

func variablesText(env map[string]string) string {
	var b strings.Builder
	for name, value := range env {
		fmt.Fprintf(&b, "%s=%s\n", name, value)
	}
	return b.String()
}

// textsWith are the texts with a name, in order.
func textsWith(ctx context.Context, names namesearch.Names, texts map[string]string) (places []string) {
	for _, where := range slices.Sorted(maps.Keys(texts)) {
		if form, found := names.Find(ctx, []byte(texts[where])); found {
			places = append(places, namesearch.Place(where, form))
		}
	}
	return places
}

// searchFile says where a file of the workspace has a name; "" = nowhere.
func (u *up) searchFile(ctx context.Context, f workspace.File) (place string, err error) {
	if _, found := u.hidden.Find(ctx, []byte(f.Path)); found {
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
	form, found := u.hidden.Find(ctx, data)
	if !found {
		return "", nil
	}
	return namesearch.Place("the file "+f.Path, form), nil
}

// AgentView is what an agent finds outside of its sandbox.
type AgentView struct {
	Folder string            // on this computer
	Texts  map[string]string // what else it reads, by what that is
}

// SearchView looks for the names of hidden models in what an agent is given. It is an
// error of [KindConfig] that has a [HiddenError] when one is found. unsearched lists what
// could not be searched whole, and why.
func (s *Sandbox) SearchView(ctx context.Context, v AgentView) (unsearched []string, err error) {
	names, err := s.HiddenNames()
	if err != nil || names.Empty() {
		return nil, err
	}
	answer := names.Below(ctx, v.Folder)
	answer.Places = append(answer.Places, textsWith(ctx, names, v.Texts)...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer.Unsearched, foundHidden("what the agent is given", answer.Places)
}
