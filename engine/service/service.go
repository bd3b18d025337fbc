// Package service loads interfaces in a sandbox and calls their functions. A service can
// give a part of itself to somebody else, as a token with limits.
package service

import (
	"context"
	"encoding/json"
	"io"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Service is an interface that a sandbox serves. It is safe for concurrent use.
type Service struct {
	host       Host
	connection client.Connection
	face       sdk.Interface
	client     *client.Client    // can only call this service
	inPlace    *protocol.InPlace // of the serving that made it
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
			return sdk.Surface{}, errdefs.Wrap(errdefs.KindConfig, err)
		}
	}
	return v.host.Expose(ctx, mode, req)
}

// Logs copies what the service has printed to w; with follow until ctx ends or
// the service stops.
func (v *Service) Logs(ctx context.Context, follow bool, w io.Writer) error {
	_, err := v.host.Runtime.Services().Logs(ctx, v.Name(), 0, follow, w, w)
	return errdefs.Wrap(errdefs.KindProvider, err)
}

// Stop ends the service and its worker.
func (v *Service) Stop(ctx context.Context) error {
	if err := v.host.Runtime.Services().Delete(ctx, v.Name()); err != nil {
		return errdefs.Wrap(errdefs.KindProvider, err)
	}
	_, err := v.host.Ledger.Update(ctx, v.host.ID, func(r *machine.Record) error {
		for i := range r.Services {
			if r.Services[i].Name == v.Name() {
				r.Services = append(r.Services[:i], r.Services[i+1:]...)
				break
			}
		}
		return nil
	})
	return errdefs.Wrap(errdefs.KindInternal, err)
}
