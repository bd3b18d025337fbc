package newsession

import (
	"context"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
)

// search looks for the names of hidden models in what the agent is given.
func (h Host) search(ctx context.Context, exp *experiment.Experiment, o Options, prompt string) error {
	hidden, err := h.HiddenNames()
	if err != nil || hidden.Empty() {
		return err
	}
	given := blinding.Given{Experiment: exp, Prompt: prompt, Name: o.Name, Workspace: o.Contents}
	return given.Search(ctx, hidden)
}

// scan looks for them in the sandbox, now that models are loaded and files have come.
func (h Host) scan(ctx context.Context, exp *experiment.Experiment, r machine.Record) error {
	hidden, err := h.NamesHiddenInside()
	if err != nil || hidden.Empty() {
		return err
	}
	s := blinding.Scan{Names: hidden, Isolated: r.Isolation != "none", Report: h.Report}
	for _, m := range exp.Sandbox.Weights() {
		s.Vocabularies = append(s.Vocabularies, m.SandboxPath())
	}
	if !exp.Workspace.NoPreload {
		for _, m := range exp.Sandbox.Models {
			s.Variables = append(s.Variables, m.VarName, m.TokenizerName())
		}
	}
	return s.Search(ctx, blinding.Sandbox{Exec: h.Exec, Python: h.Python(exp.Sandbox.ExecutionMode)})
}
