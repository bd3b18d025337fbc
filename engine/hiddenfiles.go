package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/namesearch"
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
	note := noteOf(rec)
	if note.Hidden == nil || s.engine.blinding.unsearched {
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
	var answer namesearch.Answer
	if _, found := names.Find(ctx, []byte(place)); found {
		answer.Places = append(answer.Places, "the name "+place)
	}
	if local != "" {
		answer.Add(names.Folder(ctx, local))
	} else if form, found := names.Find(ctx, content); found {
		answer.Places = append(answer.Places, namesearch.Place("the content of "+place, form))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := foundHidden(inSandbox, answer.Places); err != nil {
		return err
	}
	if len(answer.Unsearched) > 0 {
		err := fmt.Errorf("look for the names of hidden models: %s; unpack it, and copy what is in it", someOf(answer.Unsearched))
		return &Error{Kind: KindUnsupported, Err: err}
	}
	return nil
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
