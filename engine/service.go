package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/service"
	"github.com/seer-engine/seer/sdk"
)

// Service is an interface that a sandbox serves. It is safe for concurrent use.
type Service struct {
	sandbox    *Sandbox
	connection protocol.Connection
	face       sdk.Interface
	client     *protocol.Client // can only call this service
}

func newService(s *Sandbox, c protocol.Connection, face sdk.Interface) (*Service, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	return &Service{sandbox: s, connection: c, face: face, client: client}, nil
}

// Name is the name that the interface is served under.
func (v *Service) Name() string { return v.connection.Service }

// Interface describes the exposed functions.
func (v *Service) Interface() sdk.Interface { return v.face }

// Connection is where the service is and the token that can call it and nothing
// else.
func (v *Service) Connection() protocol.Connection { return v.connection }

// Call calls one function and decodes its JSON result into out, which may be nil.
// When the function fails, the error is a [*protocol.CallError]; the function is
// never called twice. When ctx ends, the call is cancelled in the sandbox.
func (v *Service) Call(ctx context.Context, fn string, args []any, kwargs map[string]any, out any) error {
	result, err := v.client.Call(ctx, v.Name(), fn, args, kwargs)
	if err != nil {
		return as(KindProvider, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(result, out); err != nil {
		return as(KindCall, fmt.Errorf("the result of %s.%s does not fit: %w", v.Name(), fn, err))
	}
	return nil
}

// Expose asks the expose mode (library, mcp, prompt or a plugin's) for the
// surface of this service. Nothing is written; see package surface.
func (v *Service) Expose(ctx context.Context, mode string, options map[string]any) (sdk.Surface, error) {
	exposer, err := v.sandbox.engine.exposer(ctx, mode)
	if err != nil {
		return sdk.Surface{}, as(KindPlugin, err)
	}
	req := sdk.ExposeRequest{Name: v.Name(), Interface: v.face}
	if len(options) > 0 {
		if req.Options, err = json.Marshal(options); err != nil {
			return sdk.Surface{}, as(KindConfig, err)
		}
	}
	s, err := exposer.Expose(ctx, req)
	return s, as(KindPlugin, err)
}

// Logs copies what the service has printed to w; with follow until ctx ends or
// the service stops.
func (v *Service) Logs(ctx context.Context, follow bool, w io.Writer) error {
	_, err := v.sandbox.runtime.ServiceLogs(ctx, v.Name(), 0, follow, w, w)
	return as(KindProvider, err)
}

// Stop ends the service and its worker.
func (v *Service) Stop(ctx context.Context) error {
	if err := v.sandbox.runtime.DeleteService(ctx, v.Name()); err != nil {
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

// ServeOptions say what to serve.
type ServeOptions struct {
	File        string // the interface on this computer
	Name        string // default: the file's stem
	ExposeAs    string // noted in the ledger; see [Service.Expose]
	LoadTimeout int64  // seconds; 0 = 1800
	Progress    Progress
}

// Serve loads an interface in a worker of its own and returns when its functions
// can be called. Serving a name again replaces it once the new version has
// loaded; connections made for the old one go on working. An interface that does
// not load is a [*service.LoadError] with the user's own traceback.
func (s *Sandbox) Serve(ctx context.Context, o ServeOptions) (*Service, error) {
	name, err := serviceName(o)
	if err != nil {
		return nil, err
	}
	if o.ExposeAs != "" { // before a load that may take minutes
		if _, err := s.engine.exposer(ctx, o.ExposeAs); err != nil {
			return nil, as(KindPlugin, err)
		}
	}
	rec, err := s.engine.ledger.Get(s.ID())
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	spec := service.Spec{Sandbox: s.ID(), Endpoint: s.runtime.Endpoint(), Name: name, File: o.File, LoadTimeout: seconds(o.LoadTimeout)}
	if before, ok := rec.Service(name); ok {
		spec.Token = before.Token
	}
	report := reporter{s.engine.now, o.Progress}
	report.info(StageService, "loading %s as %s", o.File, name)
	served, err := service.Serve(ctx, s.runtime, spec)
	if err != nil {
		return nil, as(KindService, err)
	}
	face, err := json.Marshal(served.Interface)
	if err != nil {
		return nil, as(KindInternal, err)
	}
	_, err = s.engine.ledger.Update(ctx, s.ID(), func(r *machine.Record) error {
		r.SetService(machine.Service{
			Name: name, File: o.File, ExposeAs: o.ExposeAs, Token: served.Connection.Token, Interface: face, ServedAt: s.engine.now(),
		})
		return nil
	})
	if err != nil {
		return nil, as(KindInternal, err)
	}
	report.done(StageService, "serving %s: %s", name, countText(len(served.Interface.Functions), "function"))
	return newService(s, served.Connection, served.Interface)
}

// Service finds an interface that the sandbox serves.
func (s *Sandbox) Service(_ context.Context, name string) (*Service, error) {
	rec, err := s.engine.ledger.Get(s.ID())
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	have, ok := rec.Service(name)
	if !ok {
		return nil, &Error{KindNotFound, fmt.Errorf("the sandbox %s serves nothing named %q; it serves %s", s.ID(), name, listOr("nothing", serviceNames(rec)))}
	}
	var face sdk.Interface
	if err := json.Unmarshal(have.Interface, &face); err != nil {
		return nil, as(KindInternal, err)
	}
	return newService(s, protocol.Connection{
		Version: protocol.ConnectionVersion, Sandbox: s.ID(), Service: name, Endpoint: s.runtime.Endpoint(), Token: have.Token,
	}, face)
}
