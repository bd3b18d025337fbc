package engine

import (
	"context"
	"io"
	"io/fs"
	"slices"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
)

// HiddenError says that the name of a hidden model can be found where an agent looks, or
// would be there.
type HiddenError = blinding.HiddenError

// AgentView is what an agent finds outside of its sandbox.
type AgentView = blinding.AgentView

// Unfound says where no name was found, and that something was not searched.
func Unfound(in string, unsearched []string) string { return blinding.Unfound(in, unsearched) }

// hideNames keeps the names of hidden models from the agent, before anything is rented.
func (p *preparation) hideNames(ctx context.Context) error {
	if p.hidden = blinding.Names(p.models); !p.hides() {
		return nil
	}
	given := blinding.Given{
		Experiment: p.exp, Models: p.models, Prompt: session.Prompt(p.exp, p.contents), Name: p.opts.Name, Workspace: p.contents,
		Unsearched: p.engine.unsearched,
	}
	return given.Hide(ctx, p.hidden, p.engine.copies, p.report)
}

// hides reports whether a model's name is hidden from the agent.
func (p *preparation) hides() bool { return len(p.hidden.Spec().Names) > 0 }

// checkHiddenNames finds the names of hidden models in what the experiment gives to its
// agent.
func (e *Engine) checkHiddenNames(ctx context.Context, exp *experiment.Experiment, report *preflight.Report) error {
	if !slices.ContainsFunc(exp.Sandbox.Weights(), func(m experiment.Model) bool { return m.Hidden }) {
		return nil
	}
	contents, err := WorkspaceOf(exp)
	if err != nil {
		return err
	}
	given := blinding.Given{Experiment: exp, Prompt: session.Prompt(exp, contents), Workspace: contents, Unsearched: e.unsearched}
	return given.Check(ctx, report)
}

// scan looks for the names of hidden models wherever an agent in the sandbox could. It is
// an error of [KindConfig] when one is found.
func (p *preparation) scan(ctx context.Context, m provision.Machine) error {
	if p.hidden.Empty() || p.engine.unsearched || !p.exp.Sandbox.Whole() {
		return nil
	}
	scan := blinding.ScanOf(p.exp, p.plan, m.Choice, p.models, p.hidden, p.report)
	s := p.engine.sandbox(m)
	return scan.Search(ctx, blinding.Sandbox{Exec: s.Exec, Python: s.session().Python(p.exp.Sandbox.ExecutionMode)})
}

// HiddenNames finds the names of models that the sandbox's agent is not to know.
func (s *Sandbox) HiddenNames() (namesearch.Names, error) {
	_, state, err := s.session().State()
	if err != nil || s.engine.unsearched {
		return namesearch.Names{}, err
	}
	return state.HiddenNames(), nil
}

// namesHiddenInside are the names that nobody in this sandbox is to find.
func (s *Sandbox) namesHiddenInside() (namesearch.Names, error) {
	_, state, err := s.session().State()
	if err != nil || s.engine.unsearched {
		return namesearch.Names{}, err
	}
	return state.NamesHiddenInside(), nil
}

// checkBrought looks at what is brought into a running sandbox: its place there, and its
// content or, where that is nil, the file or folder local.
func (s *Sandbox) checkBrought(ctx context.Context, place, local string, content []byte) error {
	names, err := s.namesHiddenInside()
	if err != nil {
		return err
	}
	return blinding.CheckBrought(ctx, names, place, local, content)
}

// checkServed looks at an interface file before the sandbox has it.
func (s *Sandbox) checkServed(ctx context.Context, name, file string) error {
	names, err := s.namesHiddenInside()
	if err != nil {
		return err
	}
	return blinding.CheckInterface(ctx, names, name, file)
}

// WriteFrom writes what a reader gives to a file of the sandbox, whole or not at all.
func (s *Sandbox) WriteFrom(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	names, err := s.namesHiddenInside()
	if err != nil {
		return err
	}
	return blinding.CheckReader(ctx, names, path, r, func(r io.Reader) error {
		return as(KindProvider, s.runtime.Files().Write(ctx, path, r, mode))
	})
}

// SearchView looks for the names of hidden models in what an agent is given. It is an
// error of [KindConfig] that has a [HiddenError] when one is found. unsearched lists what
// could not be searched whole, and why.
func (s *Sandbox) SearchView(ctx context.Context, v AgentView) (unsearched []string, err error) {
	names, err := s.HiddenNames()
	if err != nil {
		return nil, err
	}
	return v.Search(ctx, names)
}
