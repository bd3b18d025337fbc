package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/netproxy"
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

const uplinkTool = "uplink"

func (p *provider) OpenNetwork(ctx context.Context) (string, error) {
	if tool, ok := p.proven.Load(uplinkTool); ok {
		return tool.(string), nil
	}
	if tool, ok := p.rememberedUplink(); ok {
		p.proven.Store(uplinkTool, tool)
		return tool, nil
	}
	tool, err := p.detectUplink(ctx)
	if err != nil {
		return "", err
	}
	p.proven.Store(uplinkTool, tool)
	if err := os.MkdirAll(p.Dir, 0o700); err == nil {
		_ = os.WriteFile(p.uplinkFile(), []byte(uplinkTrial(tool)), 0o600) // without it the next trial is made
	}
	return tool, nil
}

// A trial takes as long as much of a start. That one worked is remembered, as gVisor's is:
// of these programs, this user, until the computer is started again or a machine cannot be
// connected.
func (p *provider) rememberedUplink() (string, bool) {
	info, err := os.Stat(p.uplinkFile())
	if err != nil || time.Since(info.ModTime()) > trialKept {
		return "", false
	}
	have, err := os.ReadFile(p.uplinkFile())
	tool, _, _ := strings.Cut(string(have), " ")
	return tool, err == nil && netproxy.UplinkTools(tool) != "" && string(have) == uplinkTrial(tool)
}

func (p *provider) forgetUplink() {
	p.proven.Delete(uplinkTool)
	_ = os.Remove(p.uplinkFile())
}

func (p *provider) uplinkFile() string { return filepath.Join(p.Dir, "uplink-works") }

func uplinkTrial(tool string) string {
	return fmt.Sprintf("%s %s %d %s", tool, proc.BootID(), os.Geteuid(), netproxy.UplinkTools(tool))
}

// way is the gate of a machine, and what its user should know of it.
func (p *provider) way(ctx context.Context, spec *sdk.MachineSpec, kind string) (*gateNote, []string, error) {
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
	g, err := wantsGate(spec, kind, tool)
	return g, log, err
}
