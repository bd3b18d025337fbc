package engine

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/service"
)

// Service is an interface that a sandbox serves. It is safe for concurrent use.
type Service = service.Service

// ServeOptions say what to serve.
type ServeOptions = service.Options

// ServeOptionsOf is how an experiment wants an interface served.
func ServeOptionsOf(s experiment.Serve) ServeOptions { return service.OptionsOf(s) }

// TokenOf is a token with the limits of an access that begins now.
func TokenOf(a experiment.Access, now time.Time) (protocol.Token, error) {
	return service.TokenOf(a, now)
}

// servicesOf are what a sandbox serves.
func servicesOf(s *Sandbox) service.Host {
	return service.Host{
		ID: s.session.ID, Runtime: s.session.Client, Ledger: s.engine.ledger, Now: s.engine.now, Expose: s.engine.Expose,
		CheckFile: s.files.CheckInterface, CheckMode: s.engine.plugins.CheckMode, Opened: s.closes,
	}
}

// Serve loads an interface in a worker of its own and returns when its functions can be
// called. Serving a name again replaces it once the new version has loaded; connections made
// for the old one continue to work. An interface that does not load is a [*service.LoadError]
// with the user's own traceback.
func (s *Sandbox) Serve(ctx context.Context, o ServeOptions) (*Service, error) {
	return servicesOf(s).Serve(ctx, o)
}

// Service finds an interface that the sandbox serves.
func (s *Sandbox) Service(_ context.Context, name string) (*Service, error) {
	return servicesOf(s).Service(name)
}
