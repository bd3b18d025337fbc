package engine

import (
	"context"
	"io"
	"io/fs"

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
	_, state, err := s.session().State()
	if err != nil || s.engine.starter.Unsearched {
		return namesearch.Names{}, err
	}
	return state.HiddenNames(), nil
}

// namesHiddenInside are the names that nobody in this sandbox is to find.
func (s *Sandbox) namesHiddenInside() (namesearch.Names, error) {
	_, state, err := s.session().State()
	if err != nil || s.engine.starter.Unsearched {
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
