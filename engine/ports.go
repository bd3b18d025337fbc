package engine

import (
	"context"
	"fmt"
	"net"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
)

// DialPort connects to a port of the sandbox, through the runtime, whatever the
// provider has. A port on which nobody listens is [KindProvider].
func (s *Sandbox) DialPort(ctx context.Context, port int) (net.Conn, error) {
	conn, err := s.runtime.DialPort(ctx, port)
	return conn, as(KindProvider, err)
}

// Dialer is [Sandbox.DialPort] of one port.
func (s *Sandbox) Dialer(port int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return s.DialPort(ctx, port) }
}

// tellPorts tells where a port of the experiment is that is another one outside.
func (u *up) tellPorts(r machine.Record) {
	for _, port := range u.exp.Sandbox.Ports {
		if at, ok := r.Endpoint(port); ok && r.Provider == localName && at != fmt.Sprintf("http://127.0.0.1:%d", port) {
			u.report.Info(StageMachine, "port %d of the sandbox is at %s: that of this computer is taken", port, at)
		}
	}
}

// Usage is what the sandbox uses now: processor, memory, disks, GPUs.
func (s *Sandbox) Usage(ctx context.Context) (protocol.Usage, error) {
	u, err := s.runtime.Usage(ctx)
	return u, as(KindProvider, err)
}

// EnvironmentHandle is a sandbox as programs hand it on: where it is and how to use it.
type EnvironmentHandle struct {
	SandboxID      string `json:"sandbox_id"`
	JupyterURL     string `json:"jupyter_url,omitempty"` // with the token; empty unless its execution mode is notebook
	JupyterPort    int    `json:"jupyter_port,omitempty"`
	JupyterToken   string `json:"jupyter_token,omitempty"`
	JupyterBase    string `json:"jupyter_base,omitempty"`    // the path of Jupyter at every way to its port, with a slash at both ends
	CodeServerURL  string `json:"code_server_url,omitempty"` // with debug
	CodeServerKey  string `json:"code_server_password,omitempty"`
	CodeServerPort int    `json:"code_server_port,omitempty"`
	CodeServerBase string `json:"code_server_base,omitempty"` // as jupyter_base
	Status         string `json:"status"`                     // as [sdk.State]
	Config         any    `json:"config"`                     // the experiment, in its canonical form; null where it is not known
}

// Environment is the sandbox's handle.
func (s *Sandbox) Environment(ctx context.Context) (EnvironmentHandle, error) {
	r, _, err := s.sessionOf(ctx)
	if err != nil {
		return EnvironmentHandle{}, err
	}
	return handleOf(r), nil
}

func handleOf(r machine.Record) EnvironmentHandle {
	note := noteOf(r)
	h := EnvironmentHandle{SandboxID: r.ID, Status: string(r.State)}
	if len(note.Config) > 0 {
		h.Config = note.Config
	}
	if !r.Live() || note.Verifying {
		return h
	}
	if j := note.Jupyter; j != nil {
		h.JupyterPort, h.JupyterToken, h.JupyterBase = j.Port, j.Secret, j.path()
		if way, ok := outside(r, j.Port); ok {
			h.JupyterURL = j.jupyter(way)
		}
	}
	if c := note.CodeServer; c != nil {
		h.CodeServerKey, h.CodeServerPort, h.CodeServerBase = c.Secret, c.Port, c.path()
		if way, ok := outside(r, c.Port); ok {
			h.CodeServerURL = way + c.path()
		}
	}
	return h
}
