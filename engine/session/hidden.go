package session

import (
	"context"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/repl"
)

// Python runs code in the kernel or interpreter that is prepared for an execution mode, so
// that the agent sees nothing of it, and returns what the code prints. It is nil for a mode
// that prepares none.
func (s Session) Python(mode string) func(ctx context.Context, code string) (string, error) {
	switch mode {
	case experiment.ModeNotebook:
		return func(ctx context.Context, code string) (string, error) {
			client, err := s.Notebook()
			if err != nil {
				return "", err
			}
			defer client.Close()
			return client.RunHidden(ctx, code)
		}
	case experiment.ModeCLI:
		return func(ctx context.Context, code string) (string, error) {
			return repl.Execute(ctx, s.Client, repl.Python{}, code)
		}
	}
	return nil
}

// HiddenNames are the names of models that the sandbox's agent must not find anywhere.
func (s State) HiddenNames() namesearch.Names {
	if s.Hidden == nil {
		return namesearch.Names{}
	}
	return namesearch.Compile(*s.Hidden)
}

// NamesHiddenInside are those that nobody may find in the sandbox: none where the agent only
// has the functions that are served.
func (s State) NamesHiddenInside() namesearch.Names {
	if !(experiment.Sandbox{ExecutionMode: s.Mode}).Whole() {
		return namesearch.Names{}
	}
	return s.HiddenNames()
}

// HiddenNames are [State.HiddenNames] of the sandbox.
func (s Session) HiddenNames() (namesearch.Names, error) {
	_, state, err := s.State()
	if err != nil || s.Unsearched {
		return namesearch.Names{}, err
	}
	return state.HiddenNames(), nil
}

// NamesHiddenInside are [State.NamesHiddenInside] of the sandbox.
func (s Session) NamesHiddenInside() (namesearch.Names, error) {
	_, state, err := s.State()
	if err != nil || s.Unsearched {
		return namesearch.Names{}, err
	}
	return state.NamesHiddenInside(), nil
}
