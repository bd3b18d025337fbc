package engine

import (
	"context"
	"encoding/json"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/service"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/internal/text"
)

// ServeOptions say what to serve.
type ServeOptions struct {
	File        string // the interface on this computer
	Name        string // default: the file's stem
	ExposeAs    string // noted in the ledger; see [Service.Expose]
	LoadTimeout int64  // seconds; 0 = 1800
	Limits      protocol.Limits
	Record      bool // every call stays in the journal until it has been read; see [client.Services.Journal]
	InPlace     bool // a worker that runs takes the edited file over, if that is safe; see [Service.InPlace]
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
		if _, err := s.engine.plugins.Exposer(ctx, o.ExposeAs); err != nil {
			return nil, as(KindPlugin, err)
		}
	}
	rec, err := s.engine.ledger.Get(s.ID())
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	if err := s.checkServed(ctx, name, o.File); err != nil {
		return nil, err
	}
	spec := service.Spec{Sandbox: s.ID(), Endpoint: s.runtime.Endpoint(), Name: name, File: o.File, LoadTimeout: seconds(o.LoadTimeout),
		Limits: o.Limits, Record: o.Record, InPlace: o.InPlace}
	if before, ok := rec.Service(name); ok {
		spec.Token = before.Token
	}
	report := s.engine.reporter(o.Progress)
	report.Info(StageService, "loading %s as %s", o.File, name)
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
	report.Done(StageService, "serving %s: %s", name, text.Plural(len(served.Interface.Functions), "function"))
	v, err := newService(s, served.Connection, served.Interface)
	if err == nil {
		v.inPlace = served.InPlace
	}
	return v, err
}

// SurfaceRecords remember which files surfaces have put into folders of the user's; see
// [surface.Write].
func (e *Engine) SurfaceRecords() (surface.Records, error) {
	dir, err := e.store.Dir("surfaces")
	return surface.Records{Dir: dir}, as(KindInternal, err)
}
