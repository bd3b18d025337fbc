package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/session"
)

// HiddenNames finds the names of models that the sandbox's agent is not to know.
func (s *Sandbox) HiddenNames() (namesearch.Names, error) {
	names, _, err := s.blinded()
	return names, err
}

// blinded are the names that the sandbox's agent is not to know, and how it uses the sandbox.
func (s *Sandbox) blinded() (names namesearch.Names, mode string, err error) {
	rec, err := s.engine.ledger.Get(s.ID())
	if err != nil {
		return names, "", as(KindNotFound, err)
	}
	note := session.StateOf(rec)
	if note.Hidden == nil || s.engine.unsearched {
		return names, note.Mode, nil
	}
	return namesearch.Compile(*note.Hidden), note.Mode, nil
}

// hiddenNames are the names that nobody in this sandbox is to find: none where the agent
// only has the functions that are served.
func (s *Sandbox) hiddenNames() (namesearch.Names, error) {
	names, mode, err := s.blinded()
	if !(experiment.Sandbox{ExecutionMode: mode}).Whole() {
		return namesearch.Names{}, err
	}
	return names, err
}

// checkHidden looks at what is brought into a running sandbox: its place there, and its
// content or, where that is nil, the file or folder local.
func (s *Sandbox) checkHidden(ctx context.Context, place, local string, content []byte) error {
	names, err := s.hiddenNames()
	if err != nil || names.Empty() {
		return err
	}
	return blinding.CheckBrought(ctx, names, place, local, content)
}

// WriteFrom writes what a reader gives to a file of the sandbox, whole or not at all.
func (s *Sandbox) WriteFrom(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	names, err := s.hiddenNames()
	if err != nil {
		return err
	}
	if names.Empty() {
		return as(KindProvider, s.runtime.Files().Write(ctx, path, r, mode))
	}
	f, err := os.CreateTemp("", "seer-*")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	if err := s.checkHidden(ctx, path, f.Name(), nil); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return as(KindProvider, s.runtime.Files().Write(ctx, path, f, mode))
}

// checkServed looks at an interface file before the sandbox has it.
func (s *Sandbox) checkServed(ctx context.Context, name, file string) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return nil // the loading says so
	}
	return s.checkHidden(ctx, name, "", bytes.Join([][]byte{code, []byte(name)}, []byte("\n")))
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
	answer.Places = append(answer.Places, blinding.FindIn(ctx, names, v.Texts)...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer.Unsearched, blinding.Found("what the agent is given", answer.Places)
}
