package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/engine/session"
)

// HiddenError says that the name of a hidden model can be found where an agent looks, or
// would be there.
type HiddenError = blinding.HiddenError

// veil searches what the experiment tells the agent for the names of hidden models. Where
// the agent has the whole sandbox, it puts veiled copies in their place; what their
// architectures tell anyway, the user is told.
func (u *up) veil(ctx context.Context) error {
	u.hidden = blinding.Names(u.models)
	if !u.hides() {
		return nil
	}
	for _, name := range u.hidden.Common {
		u.report.Warn(StageModel, "the name %s of a hidden model has only common words: Seer does not look for them", name)
	}
	if err := u.searchTexts(ctx); err != nil || !u.exp.Sandbox.Whole() {
		return err
	}
	for _, name := range u.hidden.Told {
		u.report.Warn(StageModel, "the name %s of a hidden model is also that of its architecture, which has to stay: the agent can see it", name)
	}
	if words := u.hidden.Shown; len(words) > 0 {
		u.report.Info(StageModel, "the architecture of a hidden model tells %s, which has to stay: the agent can see it", strings.Join(words, ", "))
	}
	for i := range u.models {
		m := &u.models[i]
		if !m.Hidden {
			continue
		}
		dir, report, err := u.engine.copies.Of(ctx, m.Local, u.hidden)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		m.Local = dir
		if len(report.Dropped) > 0 {
			u.report.Info(StageModel, "%s: the agent does not see these values: %s", m.Name, blinding.SomeOf(report.Dropped))
		}
	}
	return nil
}

// hides reports whether a model's name is hidden from the agent.
func (u *up) hides() bool { return len(u.hidden.Spec().Names) > 0 }

// tellsHidden finds the names of hidden models in what the experiment gives to its agent.
// Of a model that is no folder, the words of its architecture are not known yet, which may
// be told: then it warns.
func (e *Engine) tellsHidden(ctx context.Context, exp *experiment.Experiment, report *preflight.Report) error {
	u := &up{engine: e, exp: exp}
	first, unknown := -1, false
	for i, m := range exp.Sandbox.Weights() {
		if m.Hidden && first < 0 {
			first = i
		}
		unknown = unknown || m.Hidden && m.Path == ""
		u.models = append(u.models, machine.Model{Name: m.Name, Source: m.Source, Local: m.Path, VarName: m.VarName, Hidden: m.Hidden})
	}
	if first < 0 {
		return nil
	}
	u.hidden = blinding.Names(u.models)
	if err := u.readWorkspace(); err != nil {
		return err
	}
	err := u.searchTexts(ctx)
	var found *HiddenError
	if errors.As(err, &found) {
		severity := preflight.SeverityError
		if unknown {
			severity = preflight.SeverityWarning
		}
		at := exp.Errorf(fmt.Sprintf("sandbox.models.%d.hidden", first), found.Error(), "")
		report.Findings = append(report.Findings, preflight.Finding{Severity: severity, Error: *at})
		return nil
	}
	return err
}

// searchTexts looks for the names of hidden models in what the experiment gives to its
// agent, before anything is rented. It is an error of [KindConfig] when one is found.
func (u *up) searchTexts(ctx context.Context) error {
	if u.hidden.Empty() || u.engine.unsearched {
		return nil
	}
	given := blinding.Given{Experiment: u.exp, Models: u.models, Prompt: session.Prompt(u.exp, u.contents), Name: u.opts.Name, Workspace: u.contents}
	return given.Search(ctx, u.hidden)
}

// scan looks for the names of hidden models wherever an agent in the sandbox could. It is
// an error of [KindConfig] when one is found.
func (u *up) scan(ctx context.Context, m provision.Machine) error {
	if u.hidden.Empty() || u.engine.unsearched || !u.exp.Sandbox.Whole() {
		return nil
	}
	scan := blinding.Scan{Names: u.hidden, Isolated: m.Choice.Isolation != "none", Report: u.report}
	for _, model := range u.models {
		scan.Vocabularies = append(scan.Vocabularies, model.Path)
	}
	for _, up := range u.plan.UploadsOf(m.Choice) {
		scan.Roots = append(scan.Roots, up.Remote)
	}
	for _, v := range u.plan.Volumes {
		scan.Roots = append(scan.Roots, v.Path)
	}
	if !u.exp.Workspace.NoPreload {
		for _, m := range u.exp.Sandbox.Models {
			scan.Variables = append(scan.Variables, m.VarName, m.TokenizerName())
		}
	}
	s := u.engine.sandbox(m)
	in := blinding.Sandbox{Exec: s.Exec}
	switch u.exp.Sandbox.ExecutionMode {
	case experiment.ModeNotebook:
		in.Python = s.runHidden
	case experiment.ModeCLI:
		in.Python = func(ctx context.Context, code string) (string, error) {
			return repl.Execute(ctx, s.runtime, repl.Python{}, code)
		}
	}
	return scan.Search(ctx, in)
}

// Unfound says where no name was found, and that something was not searched.
func Unfound(in string, unsearched []string) string { return blinding.Unfound(in, unsearched) }

// runHidden runs code in the first kernel, without a cell, and returns what it prints.
func (s *Sandbox) runHidden(ctx context.Context, code string) (string, error) {
	client, err := s.Notebook(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	sessions, err := client.Sessions(ctx)
	if err != nil {
		return "", err
	}
	if len(sessions) == 0 {
		return "", errors.New("there is no kernel")
	}
	run, err := client.AddCell(ctx, sessions[0].ID, notebook.NewCell{Type: "code", Source: code, Run: true, Hidden: true})
	if err != nil {
		return "", err
	}
	if run.Execution == nil {
		return "", errors.New("the kernel did not run the code")
	}
	done, err := client.Wait(ctx, run.Execution.ID)
	if err != nil {
		return "", err
	}
	if done.Error != nil {
		return "", fmt.Errorf("%s: %s", done.Error.EName, done.Error.EValue)
	}
	text, _, err := client.Text(ctx, done.ID, 0, done.TextBytes)
	return string(text), err
}
