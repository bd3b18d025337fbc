package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Service is an interface that a sandbox serves. It is safe for concurrent use.
type Service struct {
	sandbox    *Sandbox
	connection client.Connection
	face       sdk.Interface
	client     *client.Client    // can only call this service
	inPlace    *protocol.InPlace // of the serving that made it
}

func newService(s *Sandbox, c client.Connection, face sdk.Interface) (*Service, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	s.closes(client)
	return &Service{sandbox: s, connection: c, face: face, client: client}, nil
}

// Name is the name that the interface is served under.
func (v *Service) Name() string { return v.connection.Service }

// Interface describes the exposed functions.
func (v *Service) Interface() sdk.Interface { return v.face }

// Connection is where the service is and the token that can call it and nothing
// else.
func (v *Service) Connection() client.Connection { return v.connection }

// InPlace tells whether the worker that ran has taken the edited file over; nil where
// that was not asked for.
func (v *Service) InPlace() *protocol.InPlace { return v.inPlace }

// Expose asks the expose mode (library, mcp, prompt or a plugin's) for the
// surface of this service. Nothing is written; see package surface.
func (v *Service) Expose(ctx context.Context, mode string, options map[string]any) (sdk.Surface, error) {
	req := sdk.ExposeRequest{Name: v.Name(), Interface: v.face}
	if len(options) > 0 {
		var err error
		if req.Options, err = json.Marshal(options); err != nil {
			return sdk.Surface{}, as(KindConfig, err)
		}
	}
	return v.sandbox.engine.Expose(ctx, mode, req)
}

// Logs copies what the service has printed to w; with follow until ctx ends or
// the service stops.
func (v *Service) Logs(ctx context.Context, follow bool, w io.Writer) error {
	_, err := v.sandbox.runtime.Services().Logs(ctx, v.Name(), 0, follow, w, w)
	return as(KindProvider, err)
}

// Stop ends the service and its worker.
func (v *Service) Stop(ctx context.Context) error {
	if err := v.sandbox.runtime.Services().Delete(ctx, v.Name()); err != nil {
		return as(KindProvider, err)
	}
	_, err := v.sandbox.engine.ledger.Update(ctx, v.sandbox.ID(), func(r *machine.Record) error {
		for i := range r.Services {
			if r.Services[i].Name == v.Name() {
				r.Services = append(r.Services[:i], r.Services[i+1:]...)
				break
			}
		}
		return nil
	})
	return as(KindInternal, err)
}

// Service finds an interface that the sandbox serves.
func (s *Sandbox) Service(_ context.Context, name string) (*Service, error) {
	rec, err := s.engine.ledger.Get(s.ID())
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	have, ok := rec.Service(name)
	if !ok {
		return nil, &Error{Kind: KindNotFound, Err: fmt.Errorf("the sandbox %s serves nothing named %q; it serves %s", s.ID(), name, listOr("nothing", serviceNames(rec)))}
	}
	var face sdk.Interface
	if err := json.Unmarshal(have.Interface, &face); err != nil {
		return nil, as(KindInternal, err)
	}
	return newService(s, client.Connection{
		Version: client.ConnectionVersion, Sandbox: s.ID(), Service: name, Endpoint: s.runtime.Endpoint(), Token: have.Token,
	}, face)
}
