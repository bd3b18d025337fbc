//go:build !linux

package local

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// Elsewhere there is no isolation, and so no machine with a network of its own.
type sockets struct{}

func (s *sockets) close()                         {}
func (s *sockets) reachable(folder) error         { return errNoGate() }
func (g *gateNote) listen(bool) (*sockets, error) { return nil, errNoGate() }
func errNoGate() error                            { return sdk.Errorf(sdk.Unsupported, "a network of its own needs Linux") }

func (p *provider) openGate(context.Context, folder, *note, *sockets, ...process) error {
	return errNoGate()
}

func (p *provider) mendGate(context.Context, string, folder) error { return errNoGate() }
