package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/namesearch"
)

// HiddenError says that the name of a hidden model can be found where an agent looks, or
// would be there.
type HiddenError = blinding.HiddenError

// AgentView is what an agent finds outside of its sandbox.
type AgentView = blinding.AgentView

// HiddenNames finds the names of models that the sandbox's agent is not to know.
func (s *Sandbox) HiddenNames() (namesearch.Names, error) {
	return s.session.HiddenNames()
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
