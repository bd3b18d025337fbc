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
	return &own, s.rewriteNotebookConfig(ctx, own)
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

// rewriteNotebookConfig has a notebook service that is started again know its new token and
// path.
func (s Session) rewriteNotebookConfig(ctx context.Context, own Endpoint) error {
	var data bytes.Buffer
	_, err := s.Client.Files().Read(ctx, notebookConfig, &data)
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil // it was not written down
	}
	config := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(data.Bytes(), &config)
	}
	if err == nil {
		config["token"], err = json.Marshal(own.Secret)
	}
	if err == nil {
		config["base_url"], err = json.Marshal(own.Base)
	}
	var changed []byte
	if err == nil {
		changed, err = json.Marshal(config)
	}
	if err != nil {
		return fmt.Errorf("note the new token of Jupyter: %w", err)
	}
	return s.Client.Files().Write(ctx, notebookConfig, bytes.NewReader(changed), 0o600)
}
