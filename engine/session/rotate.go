package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// RotateKeys gives Jupyter and VS Code of restored processes keys and paths of their own.
// from is the session of the original, whose keys they still have. The sandbox may be used
// from then on.
func (s Session) RotateKeys(ctx context.Context, from State, find func() (codeserver.Program, error)) error {
	jupyter, err := s.rotateJupyter(ctx, from.Jupyter)
	if err != nil {
		return err
	}
	server, err := s.rotateCodeServer(ctx, from.CodeServer, find)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(state *State) { state.Jupyter, state.CodeServer, state.Verifying = jupyter, server, false })
}

func (s Session) rotateJupyter(ctx context.Context, at *Endpoint) (*Endpoint, error) {
	if at == nil {
		return nil, nil
	}
	own := Endpoint{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
	client := notebook.NewClient(s.notebookAddress(*at))
	defer client.Close()
	if err := client.Renew(ctx, own.Secret, own.Base); err != nil {
		return nil, fmt.Errorf("give Jupyter a token of its own: %w", err)
	}
	return &own, s.rewriteNotebookConfig(ctx, map[string]any{"token": own.Secret, "base_url": own.Base})
}

// rotateCodeServer starts VS Code again: it reads its password only then.
func (s Session) rotateCodeServer(ctx context.Context, at *Endpoint, find func() (codeserver.Program, error)) (*Endpoint, error) {
	if at == nil {
		return nil, nil
	}
	own := Endpoint{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
	return &own, s.RestartCodeServer(ctx, own, find)
}

const notebookConfig = "~/.seer/notebook/config.json"

// rewriteNotebookConfig has a notebook service that is started again know what has changed.
func (s Session) rewriteNotebookConfig(ctx context.Context, changes map[string]any) error {
	var data bytes.Buffer
	_, err := s.Client.Files().Read(ctx, notebookConfig, &data)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil // it was not written down
	}
	config := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(data.Bytes(), &config)
	}
	for key, value := range changes {
		if err == nil {
			config[key], err = json.Marshal(value)
		}
	}
	var changed []byte
	if err == nil {
		changed, err = json.Marshal(config)
	}
	if err != nil {
		return fmt.Errorf("change the configuration of Jupyter: %w", err)
	}
	return s.Client.Files().Write(ctx, notebookConfig, bytes.NewReader(changed), 0o600)
}
