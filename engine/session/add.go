package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/workspace"
)

// Opened is a session that was made in a sandbox that ran already.
type Opened struct {
	Name string         `json:"name"`
	Kind workspace.Kind `json:"kind"`
}

// Add brings the contents into the working folder of a sandbox that runs, and has its kernels
// or its interpreter begin with the set-up of the experiment. No file of others is replaced: one
// that is there with other content is [errdefs.KindConflict], and nothing is brought. Variables of
// an interpreter with another set-up are lost; kernels that are in use stay.
func (s Starter) Add(ctx context.Context) error {
	files := s.Contents.Plan(workspace.Kind(s.Experiment.Sandbox.ExecutionMode)).Sandbox
	if err := s.checkFree(ctx, files); err != nil {
		return err
	}
	if len(files) > 0 {
		s.Report.Send(event.WorkspaceFilling{Files: len(files)})
		if err := s.writeFiles(ctx, files); err != nil {
			return fmt.Errorf("fill the workspace: %w", err)
		}
	}
	_, state, err := s.State()
	if err != nil || state.Setup == s.SetupKey() {
		return err
	}
	switch s.Experiment.Sandbox.ExecutionMode {
	case experiment.ModeNotebook:
		err = s.setUpKernels(ctx, state)
	case experiment.ModeCLI:
		err = s.prepareInterpreter(ctx)
	}
	if err != nil {
		return err
	}
	return s.Update(ctx, func(state *State) { state.Setup = s.SetupKey() })
}

// SetupKey tells one set-up of kernels and interpreters from another.
func (s Starter) SetupKey() string {
	text, _ := json.Marshal(s.setup()) // strings never fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (s Starter) setUpKernels(ctx context.Context, state State) error {
	client, err := s.Notebook()
	if err != nil {
		return err
	}
	defer client.Close()
	s.Report.Send(event.KernelPreparing{Loading: s.loading()})
	made, err := client.SetUp(ctx, s.setup())
	if err != nil {
		return s.diagnose("prepare a kernel", err)
	}
	s.Report.Send(event.JupyterReady{Port: state.Jupyter.Port, Kernel: made.KernelName})
	return s.rewriteNotebookConfig(ctx, map[string]any{"setup": s.setup()})
}

// checkFree finds files of others in the place of those that are to be brought. Files that are
// there with the same content are no matter.
func (s Starter) checkFree(ctx context.Context, files []workspace.File) error {
	taken, err := s.taken(ctx)
	if err != nil || len(taken) == 0 {
		return err
	}
	var mistakes []error
	for _, f := range files {
		top, _, _ := strings.Cut(strings.TrimPrefix(f.Path, workspace.Folder+"/"), "/")
		if !taken[top] {
			continue
		}
		clash, err := s.clash(ctx, f)
		if err != nil {
			return err
		}
		if clash != "" {
			mistakes = append(mistakes, errors.New(clash))
		}
	}
	return errdefs.Wrap(errdefs.KindConflict, errors.Join(mistakes...))
}

// taken are the names in the working folder.
func (s Starter) taken(ctx context.Context) (map[string]bool, error) {
	entries, err := s.Client.Files().List(ctx, workspace.Folder)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil, nil
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[path.Base(e.Name)] = true
	}
	return names, errdefs.Wrap(errdefs.KindProvider, err)
}

// clash says what is in the way of a file; empty = nothing.
func (s Starter) clash(ctx context.Context, f workspace.File) (string, error) {
	entry, err := s.Client.Files().Stat(ctx, f.Path)
	switch {
	case protocol.CodeOf(err) == protocol.NotFound:
		return "", nil
	case err != nil:
		return "", errdefs.Wrap(errdefs.KindProvider, err)
	}
	if entry.Type == protocol.EntryFile && entry.Size == f.Size {
		same, err := s.same(ctx, f)
		if err != nil || same {
			return "", err
		}
	}
	return fmt.Sprintf("%s is in the sandbox %s already, with other content: rename one of them, or remove that of the sandbox", f.Path, s.ID), nil
}

func (s Starter) same(ctx context.Context, f workspace.File) (bool, error) {
	r, err := f.Open()
	if err != nil {
		return false, errdefs.Wrap(errdefs.KindConfig, err)
	}
	defer r.Close()
	here, there := sha256.New(), sha256.New()
	if _, err := io.Copy(here, r); err != nil {
		return false, errdefs.Wrap(errdefs.KindConfig, err)
	}
	_, err = s.Client.Files().Read(ctx, f.Path, there)
	return string(here.Sum(nil)) == string(there.Sum(nil)), errdefs.Wrap(errdefs.KindProvider, err)
}
