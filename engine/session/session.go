package session

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/remedy"
)

// Session is how people and agents use one sandbox.
type Session struct {
	ID     string // of the sandbox
	Ledger Ledger
	Client *client.Client

	Unsearched bool // of tests: no name of a model is hidden
}

// outside is where a port of a sandbox is reached from this computer. On a machine that
// shares this computer's network it is the same port.
func outside(r machine.Record, port int) (string, bool) {
	if found, ok := r.Endpoint(port); ok {
		return strings.TrimSuffix(found, "/"), true
	}
	if r.Provider == local.Name && (r.Network == "open" || r.Network == "host") {
		return fmt.Sprintf("http://127.0.0.1:%d", port), true
	}
	return "", false
}

// JupyterURL is where a browser finds Jupyter, with the token. It is
// [errdefs.KindUnsupported] where the sandbox has no Jupyter, or no way leads to its port.
func (s Session) JupyterURL() (string, error) {
	r, state, err := s.State()
	if err != nil {
		return "", err
	}
	if state.Jupyter == nil {
		return "", s.noJupyter(state)
	}
	address, ok := outside(r, state.Jupyter.Port)
	if !ok {
		return "", s.unreachable(r, "jupyter")
	}
	return state.Jupyter.withToken(address), nil
}

// unreachable says that only a forwarded port leads to a program of the session.
func (s Session) unreachable(r machine.Record, program string) error {
	name := map[string]string{"jupyter": "Jupyter", "code": "VS Code"}[program]
	return remedy.For(unsupported("the provider %s leads to no port but the runtime's; forward the port of %s", r.Provider, name),
		remedy.Remedy{Action: remedy.ForwardPort, Sandbox: s.ID, Port: program})
}

// noJupyter says why there is none.
func (s Session) noJupyter(state State) error {
	if state.Mode == experiment.ModeNotebook {
		return remedy.For(unsupported("the sandbox %s has no Jupyter yet: its start is not finished; if it was interrupted, end the sandbox", s.ID),
			remedy.Remedy{Action: remedy.EndSandbox, Sandbox: s.ID})
	}
	return unsupported("the sandbox %s has no Jupyter: its execution_mode is %s; start one with execution_mode: notebook", s.ID, cmp.Or(state.Mode, "null (scoped)"))
}

// CodeServerURL is where a browser finds VS Code, and the password that it asks for. It is
// [errdefs.KindUnsupported] as [Session.JupyterURL].
func (s Session) CodeServerURL() (address, password string, err error) {
	r, state, err := s.State()
	if err != nil {
		return "", "", err
	}
	if state.CodeServer == nil {
		return "", "", s.noCodeServer()
	}
	address, ok := outside(r, state.CodeServer.Port)
	if !ok {
		return "", "", s.unreachable(r, "code")
	}
	return address + state.CodeServer.path(), state.CodeServer.Secret, nil
}

func (s Session) noCodeServer() error {
	return unsupported("the sandbox %s has no VS Code; start one with debug: true", s.ID)
}

// Page is what a browser opens of a sandbox, at whatever way leads to its port.
type Page struct {
	Port     int    // in the sandbox
	Path     string // with the query that lets a browser in: keep it to yourself
	Password string // that it asks for; empty = none
}

// Page is that of "jupyter" or "code", also where the provider leads to no such port. One
// that the sandbox does not have is [errdefs.KindUnsupported].
func (s Session) Page(name string) (Page, error) {
	_, state, err := s.State()
	switch {
	case err != nil:
		return Page{}, err
	case name == "jupyter" && state.Jupyter == nil:
		return Page{}, s.noJupyter(state)
	case name == "jupyter":
		at, err := url.Parse(s.notebookAddress(*state.Jupyter).Full())
		if err != nil {
			return Page{}, errdefs.Wrap(errdefs.KindInternal, err)
		}
		return Page{Port: state.Jupyter.Port, Path: at.RequestURI()}, nil
	case name == "code" && state.CodeServer == nil:
		return Page{}, s.noCodeServer()
	case name == "code":
		return Page{Port: state.CodeServer.Port, Path: state.CodeServer.path(), Password: state.CodeServer.Secret}, nil
	}
	return Page{}, unsupported("%q is not a page of a sandbox; there are jupyter and code", name)
}

// Notebook is the client of the notebook service, through the runtime: it needs no way to
// Jupyter's own port. The caller closes it.
func (s Session) Notebook() (*notebook.Client, error) {
	_, state, err := s.State()
	if err != nil {
		return nil, err
	}
	if state.Jupyter == nil {
		return nil, s.noJupyter(state)
	}
	return notebook.NewClient(s.notebookAddress(*state.Jupyter)), nil
}

func (s Session) notebookAddress(at Endpoint) notebook.Address {
	return notebook.Address{
		URL: fmt.Sprintf("http://127.0.0.1:%d%s", at.Port, at.path()), Token: at.Secret, Dial: s.JupyterDialer(at.Port),
	}
}

// JupyterDialer connects to Jupyter's port. Once Jupyter has ended for good, it connects to
// nobody else there, who would be sent the token.
func (s Session) JupyterDialer(port int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if err := s.CheckJupyter(ctx); err != nil {
			return nil, err
		}
		return s.Client.DialPort(ctx, port)
	}
}

// CheckJupyter checks that Jupyter still runs. Callers check before they send the token to its
// port, where another program may listen once Jupyter has ended.
func (s Session) CheckJupyter(ctx context.Context) error {
	p, err := s.Client.Processes().Get(ctx, notebook.ProcessID)
	if protocol.CodeOf(err) == protocol.NotFound || (err == nil && p.State != protocol.ProcessRunning) {
		why := protocol.Errorf(protocol.Unavailable, "Jupyter of %s has ended and does not come back; its files are there: save them as a snapshot, and start another sandbox from that", s.ID)
		return &notebook.EndedError{Why: why, Remedies: []remedy.Remedy{
			{Action: remedy.SaveSnapshot, Sandbox: s.ID}, {Action: remedy.StartSandbox, Snapshot: "NAME"},
		}}
	}
	return err
}

// shellName is the name of the session token that Seer makes itself.
const shellName = "cli"

// Shell makes the key of a session that uses the sandbox by commands and files; each
// one replaces the one before it under its name. Empty name = "cli".
func (s Session) Shell(ctx context.Context, name string) (client.Session, error) {
	key := client.Session{Version: client.SessionVersion, Kind: protocol.SessionShell, Endpoint: s.Client.Endpoint(), Token: protocol.NewToken(), Sandbox: s.ID}
	return key, errdefs.Wrap(errdefs.KindProvider, s.Client.Sessions().Put(ctx, cmp.Or(name, shellName), key.Token))
}

// EndShell revokes the key of a session; one that is not there is revoked. What it has started
// goes on.
func (s Session) EndShell(ctx context.Context, name string) error {
	err := s.Client.Sessions().Delete(ctx, cmp.Or(name, shellName))
	if protocol.CodeOf(err) == protocol.NotFound {
		return nil
	}
	return errdefs.Wrap(errdefs.KindProvider, err)
}
