package local

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// Network is what the provider of this computer says of open networks beyond the contract.
type Network interface {
	// OpenNetwork finds what connects a machine with the network open and an own namespace.
	// The error says why nothing does: then such a machine has a proxy, and programs that
	// know none reach nothing.
	OpenNetwork(ctx context.Context) (tool string, err error)
}

// ProxyOnly says what a machine has whose open network nothing connects.
func ProxyOnly(err error) string {
	return fmt.Sprintf("network open: only programs that know HTTP proxies reach the Internet, because nothing connects a network namespace here: %v", err)
}

func (p *provider) OpenNetwork(ctx context.Context) (string, error) { return p.trials.uplink(ctx) }

// way is the network proxy of a machine, and what its user should know of it.
func (p *provider) way(ctx context.Context, spec *sdk.MachineSpec, kind string) (*proxyNote, []string, error) {
	if p.sharesOpen && opens(spec, kind) {
		spec.Network = hostNetwork
	}
	tool := ""
	var log []string
	if opens(spec, kind) {
		var err error
		if tool, err = p.OpenNetwork(ctx); err != nil && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		} else if err != nil {
			log = append(log, ProxyOnly(err))
		}
	}
	g, err := wantsProxy(spec, kind, tool)
	return g, log, err
}
