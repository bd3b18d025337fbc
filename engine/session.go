package engine

import (
	"context"
	"net"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/newsession"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/session"
)

// EnvironmentHandle is a sandbox as programs hand it on: where it is and how to use it.
type EnvironmentHandle = session.Handle

// Page is what a browser opens of a sandbox, at whatever way leads to its port.
type Page = session.Page

// Environment is the sandbox's handle.
func (s *Sandbox) Environment(context.Context) (EnvironmentHandle, error) {
	return s.session.Handle()
}

// JupyterURL is where a browser finds Jupyter, with the token; the one thing that an
// agent needs to use the notebooks. A sandbox of another execution mode is refused with
// [KindUnsupported], and so is a provider that has no way to the port: see
// [Sandbox.DialPort].
func (s *Sandbox) JupyterURL(context.Context) (string, error) { return s.session.JupyterURL() }

// CodeServerURL is where a browser finds VS Code, and the password that it asks for. A
// sandbox that was made without debug is refused with [KindUnsupported].
func (s *Sandbox) CodeServerURL(context.Context) (address, password string, err error) {
	return s.session.CodeServerURL()
}

// Page is that of "jupyter" (execution_mode: notebook) or "code" (debug: true), also where
// the provider leads to no such port: see [Sandbox.DialPort]. A sandbox that has none is
// refused with [KindUnsupported], and so is another name.
func (s *Sandbox) Page(_ context.Context, name string) (Page, error) { return s.session.Page(name) }

// Notebook is the client of the notebook service, through the runtime: it needs no way to
// Jupyter's own port. The caller closes it.
func (s *Sandbox) Notebook(context.Context) (*notebook.Client, error) { return s.session.Notebook() }

// JupyterDialer is [Sandbox.Dialer] of Jupyter's port. Once Jupyter has ended for good, it
// does not connect to another program there, which would otherwise receive the token.
func (s *Sandbox) JupyterDialer(port int) func(context.Context) (net.Conn, error) {
	return s.session.JupyterDialer(port)
}

// Prompt describes the sandbox to an agent: its libraries, its models and how to use it. For
// an agent that may only call functions, it has only the libraries. It is empty if there is
// nothing to describe.
func (s *Sandbox) Prompt(context.Context) (string, error) {
	_, state, err := s.session.State()
	return state.Prompt, err
}

// Shell makes the key of a session that uses the sandbox by commands and files; each
// one replaces the one before it under its name. Empty name = "cli".
func (s *Sandbox) Shell(ctx context.Context, name string) (client.Session, error) {
	return s.session.Shell(ctx, name)
}

// EndShell revokes the key of a session. Processes that it has started continue.
func (s *Sandbox) EndShell(ctx context.Context, name string) error {
	return s.session.EndShell(ctx, name)
}

// SessionOptions say which session is made.
type SessionOptions = newsession.Options

// NewSession makes a session in the sandbox: it brings a workspace and loads models. The
// session ends with the sandbox, or by [Sandbox.EndSession]; see package newsession.
func (s *Sandbox) NewSession(ctx context.Context, o SessionOptions) (newsession.Opened, error) {
	records, err := s.engine.SurfaceRecords()
	if err != nil {
		return newsession.Opened{}, err
	}
	return newsession.Host{Session: s.session, Records: records, Report: s.engine.reporter(o.Progress)}.New(ctx, o)
}

// EndSession ends a session of [Sandbox.NewSession]. Processes that it has started continue.
func (s *Sandbox) EndSession(ctx context.Context, name string) error {
	return newsession.Host{Session: s.session}.End(ctx, name)
}

// DialPort connects to a port of the sandbox, through the runtime, whatever the
// provider has. A port on which nobody listens is [KindProvider].
func (s *Sandbox) DialPort(ctx context.Context, port int) (net.Conn, error) {
	return s.session.DialPort(ctx, port)
}

// Dialer is [Sandbox.DialPort] of one port.
func (s *Sandbox) Dialer(port int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return s.DialPort(ctx, port) }
}

// Usage is what the sandbox uses now: processor, memory, disks, GPUs.
func (s *Sandbox) Usage(ctx context.Context) (protocol.Usage, error) {
	return s.session.Usage(ctx)
}
