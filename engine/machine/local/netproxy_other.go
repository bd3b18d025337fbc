//go:build !linux

package local

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// Elsewhere there is no isolation, and so no machine with a network of its own.
type sockets struct{}

func (s *sockets) close()                          {}
func (s *sockets) reachable(folder) error          { return errNoProxy() }
func (g *proxyNote) listen(bool) (*sockets, error) { return nil, errNoProxy() }
func errNoProxy() error                            { return sdk.Errorf(sdk.Unsupported, "a network of its own needs Linux") }

func (p *provider) openProxy(context.Context, folder, *note, *sockets, ...process) error {
	return errNoProxy()
}

func (p *provider) mendProxy(context.Context, string, folder) error { return errNoProxy() }
