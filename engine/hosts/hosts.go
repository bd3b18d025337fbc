// Package hosts uses hosts that the user reaches by SSH for providers of machines: it runs the
// commands of plugins there, and carries ports of machines to this computer.
package hosts

import (
	"context"
	"io"
	"path/filepath"

	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Hosts implements [host.SSH] and [machine.Routes]. It is safe for concurrent use, also beside
// other programs with the same store. Nothing is made or started before it is used.
type Hosts struct {
	client *ssh.Client
	store  *state.Store
	o      ssh.Options
}

var (
	_ host.SSH       = (*Hosts)(nil)
	_ machine.Routes = (*Hosts)(nil)
)

// Open makes it with the folders of a store. artifacts is the folder with seer-runtime-OS-ARCH;
// interactive lets OpenSSH ask on this program's terminal.
func Open(in *state.Store, artifacts string, interactive bool) *Hosts {
	o := ssh.Options{Dir: filepath.Join(in.RuntimeDir(), "ssh"), Artifacts: artifacts, Interactive: interactive}
	return &Hosts{client: ssh.New(o), store: in, o: o}
}

// Run implements [host.SSH].
func (h *Hosts) Run(ctx context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	r, err := h.client.Run(ctx, name, ssh.Command{Argv: argv, Stdin: stdin})
	return host.SSHResult{Stdout: r.Stdout, Stderr: r.Stderr, Code: r.Code}, err
}

// Ensure implements [machine.Routes].
func (h *Hosts) Ensure(ctx context.Context, sandbox string, routes []machine.RoutedPort) (map[int]string, error) {
	f, err := h.forwarder()
	if err != nil {
		return nil, err
	}
	var wanted []forward.Wanted
	for _, r := range routes {
		way := r.Route.SSH
		if way == nil {
			return nil, sdk.Errorf(sdk.Unsupported, "this program does not know the way to port %d; use a newer version of it", r.Port)
		}
		wanted = append(wanted, forward.Wanted{Port: r.Port, Route: forward.Route{SSH: &forward.SSH{Host: way.Host, Command: way.Command}}, Target: way.Target})
	}
	return f.Ensure(ctx, sandbox, wanted)
}

// Remove implements [machine.Routes].
func (h *Hosts) Remove(ctx context.Context, sandbox string) error {
	f, err := h.forwarder()
	if err != nil {
		return err
	}
	return f.Remove(ctx, sandbox)
}

func (h *Hosts) forwarder() (*forward.Forwarder, error) {
	dir, err := h.store.Dir("forward")
	return &forward.Forwarder{Dir: dir, Artifacts: h.o.Artifacts, SSH: h.o}, err
}
