package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// settle gives the sandbox its lease, and what runs in it keys of its own. Whoever opens the
// sandbox before all of it is done is refused.
func (w *waking) settle(ctx context.Context) (*Sandbox, error) {
	s, err := w.engine.open(w.rec)
	if err != nil {
		return nil, err
	}
	s.lease.Start(ctx, w.rec, w.ttl(), w.idle)
	if err := w.renew(ctx, s); err != nil {
		s.lease.Stop()
		return nil, err
	}
	return s, nil
}

// release has the sandbox live without this program, if it is to. One that cannot be
// released is ended.
func (w *waking) release(ctx context.Context, s *Sandbox) error {
	if w.attached > 0 {
		return nil
	}
	err := s.Detach(ctx, w.timeout)
	if err == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return errors.Join(err, s.Terminate(end), s.Close())
}

func (w *waking) renew(ctx context.Context, s *Sandbox) error {
	boot, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := s.lease.Put(boot, w.rec, machine.Attached, w.ttl(), w.idle); err != nil {
		return err
	}
	s.lease.Booted()
	jupyter, err := w.renewJupyter(ctx, s)
	if err != nil {
		return err
	}
	server, err := w.renewCodeServer(ctx, s)
	if err != nil {
		return err
	}
	return w.engine.noteSession(ctx, s.id, func(n *sessionNote) { n.Jupyter, n.CodeServer, n.Verifying = jupyter, server, false })
}

// renewJupyter gives Jupyter a token and a path of its own, if there is one.
func (w *waking) renewJupyter(ctx context.Context, s *Sandbox) (*listener, error) {
	at := w.saved.Session.Jupyter
	if at == nil {
		return nil, nil
	}
	own := listener{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
	client := notebook.NewClient(s.notebookAddress(*at))
	defer client.Close()
	if err := client.Renew(ctx, own.Secret, own.Base); err != nil {
		return nil, fmt.Errorf("give Jupyter a token of its own: %w", err)
	}
	return &own, s.noteNotebook(ctx, own)
}

// renewCodeServer starts VS Code again with a password of its own, if there is one.
func (w *waking) renewCodeServer(ctx context.Context, s *Sandbox) (*listener, error) {
	at := w.saved.Session.CodeServer
	if at == nil {
		return nil, nil
	}
	own := listener{Port: at.Port, Secret: protocol.NewToken(), Base: newBase()}
	return &own, s.startCodeServer(ctx, own)
}

const notebookConfig = "~/.seer/notebook/config.json"

// noteNotebook has a notebook service that is started again know its new token and path.
func (s *Sandbox) noteNotebook(ctx context.Context, own listener) error {
	data, err := s.ReadFile(ctx, notebookConfig)
	if KindOf(err) == KindNotFound || protocol.CodeOf(err) == protocol.NotFound {
		return nil // it was not written down
	}
	config := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err == nil {
		config["token"], err = json.Marshal(own.Secret)
	}
	if err == nil {
		config["base_url"], err = json.Marshal(own.Base)
	}
	if err == nil {
		data, err = json.Marshal(config)
	}
	if err != nil {
		return fmt.Errorf("note the new token of Jupyter: %w", err)
	}
	return s.WriteFile(ctx, notebookConfig, data, 0o600)
}
