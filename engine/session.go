package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// sessionKey is where the record of a sandbox has its session.
const sessionKey = "session"

// sessionNote is what the record keeps of how an agent uses the sandbox.
type sessionNote struct {
	Mode       string          `json:"mode,omitempty"`
	Config     json.RawMessage `json:"config,omitempty"` // the experiment as it was understood
	Jupyter    *listener       `json:"jupyter,omitempty"`
	CodeServer *listener       `json:"code_server,omitempty"`
	Prompt     string          `json:"prompt,omitempty"`  // what an agent is told of the sandbox
	Network    string          `json:"network,omitempty"` // as [labelNetwork] has it
	Layer      string          `json:"layer,omitempty"`   // key of what it is shown of packages and repositories
	// Hidden says which names of models an agent must not find; nil = none.
	Hidden *namesearch.Spec `json:"hidden,omitempty"`
	// Verifying marks a sandbox of saved processes that nobody may have yet: whether they
	// are what was saved is not known, or their keys are still the original's.
	Verifying bool `json:"verifying,omitempty"`
}

// listener is a program of the sandbox that people and agents connect to.
type listener struct {
	Port   int    `json:"port"`
	Secret string `json:"secret"`
	Base   string `json:"base,omitempty"` // the path of all its pages, with a slash at both ends; empty = "/"
}

// newBase is a path that nobody can guess. Browsers send the cookies of one page of this
// computer to all its ports, but only to the paths that they are for: no sandbox's page is
// sent those of another's.
func newBase() string { return "/" + protocol.NewToken()[:16] + "/" }

func (l listener) path() string { return cmp.Or(l.Base, "/") }

// jupyter is the URL with the token, at a way to the port.
func (l listener) jupyter(way string) string {
	return way + l.path() + "?token=" + url.QueryEscape(l.Secret)
}

func noteOf(r machine.Record) (note sessionNote) {
	_ = json.Unmarshal(r.Extra[sessionKey], &note) // one of a sandbox without a session is empty
	return note
}

// setNote changes what a record keeps of the session.
func setNote(r *machine.Record, change func(*sessionNote)) error {
	note := noteOf(*r)
	change(&note)
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	r.Extra[sessionKey] = data
	return nil
}

func (e *Engine) noteSession(ctx context.Context, id string, change func(*sessionNote)) error {
	_, err := e.ledger.Update(ctx, id, func(r *machine.Record) error { return setNote(r, change) })
	return as(KindInternal, err)
}

// withMode is the experiment with what its way of using the sandbox needs to have
// installed.
func withMode(exp *experiment.Experiment) *experiment.Experiment {
	if exp.Sandbox.ExecutionMode != experiment.ModeNotebook || exp.Sandbox.Image != nil && exp.Sandbox.Image.Snapshot != "" {
		return exp
	}
	with := *exp
	with.Sandbox.PythonPackages = slices.Clone(exp.Sandbox.PythonPackages)
	for _, need := range notebook.Requirements(true) {
		if !slices.ContainsFunc(exp.Sandbox.PythonPackages, sameAs(need)) {
			with.Sandbox.PythonPackages = append(with.Sandbox.PythonPackages, need)
			with.Sandbox.Implied++
		}
	}
	return &with
}

// requirementName is the name in a requirement, as the index compares names.
func requirementName(requirement string) string {
	name := strings.ToLower(requirement)
	if i := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}); i >= 0 {
		name = name[:i]
	}
	return strings.NewReplacer("_", "-", ".", "-").Replace(name)
}

// listeners are the ports at which Jupyter and VS Code will listen, and those of them
// that may be others.
func listeners(s experiment.Sandbox) (ports, movable []int) {
	for _, l := range []struct {
		wanted      bool
		port, usual int
	}{{s.ExecutionMode == experiment.ModeNotebook, s.JupyterPort, notebook.DefaultPort}, {s.Debug, s.DebugPort, codeserver.DefaultPort}} {
		switch {
		case !l.wanted:
		case l.port != 0:
			ports = append(ports, l.port)
		default:
			ports, movable = append(ports, l.usual), append(movable, l.usual)
		}
	}
	return ports, movable
}

// outside is where a port of a sandbox is reached from this computer. On a machine that
// shares this computer's network it is the same port.
func outside(r machine.Record, port int) (string, bool) {
	if found, ok := r.Endpoint(port); ok {
		return strings.TrimSuffix(found, "/"), true
	}
	if r.Provider == localName && (r.Network == "open" || r.Network == "host") {
		return fmt.Sprintf("http://127.0.0.1:%d", port), true
	}
	return "", false
}

// JupyterURL is where a browser finds Jupyter, with the token; the one thing that an
// agent needs to use the notebooks. A sandbox of another execution mode is refused with
// [KindUnsupported], and so is a provider that has no way to the port: see
// [Sandbox.DialPort].
func (s *Sandbox) JupyterURL(ctx context.Context) (string, error) {
	r, note, err := s.sessionOf(ctx)
	if err != nil {
		return "", err
	}
	if note.Jupyter == nil {
		if note.Mode == experiment.ModeNotebook {
			return "", &Error{Kind: KindUnsupported, Err: fmt.Errorf("the sandbox %s has no Jupyter yet: its start is not finished; if it was interrupted, end it with: seer down %s", s.id, s.id)}
		}
		return "", &Error{Kind: KindUnsupported, Err: fmt.Errorf("the sandbox %s has no Jupyter: its execution_mode is %s; start one with execution_mode: notebook", s.id, orText(note.Mode, "null (scoped)"))}
	}
	way, ok := outside(r, note.Jupyter.Port)
	if !ok {
		return "", &Error{Kind: KindUnsupported, Err: fmt.Errorf("the provider %s leads to no port but the runtime's; reach Jupyter with: seer forward %s jupyter", r.Provider, s.id)}
	}
	return note.Jupyter.jupyter(way), nil
}

// CodeServerURL is where a browser finds VS Code, and the password that it asks for. A
// sandbox that was made without debug is refused with [KindUnsupported].
func (s *Sandbox) CodeServerURL(ctx context.Context) (address, password string, err error) {
	r, note, err := s.sessionOf(ctx)
	if err != nil {
		return "", "", err
	}
	if note.CodeServer == nil {
		return "", "", &Error{Kind: KindUnsupported, Err: fmt.Errorf("the sandbox %s has no VS Code; start one with debug: true", s.id)}
	}
	way, ok := outside(r, note.CodeServer.Port)
	if !ok {
		return "", "", &Error{Kind: KindUnsupported, Err: fmt.Errorf("the provider %s leads to no port but the runtime's; reach VS Code with: seer forward %s code", r.Provider, s.id)}
	}
	return way + note.CodeServer.path(), note.CodeServer.Secret, nil
}

// Notebook is the client of the notebook service, through the runtime: it needs no way to
// Jupyter's own port. The caller closes it.
func (s *Sandbox) Notebook(ctx context.Context) (*notebook.Client, error) {
	_, note, err := s.sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	if note.Jupyter == nil {
		_, err := s.JupyterURL(ctx)
		return nil, err
	}
	return notebook.NewClient(s.notebookAddress(*note.Jupyter)), nil
}

func (s *Sandbox) notebookAddress(at listener) notebook.Address {
	a := notebook.Address{URL: fmt.Sprintf("http://127.0.0.1:%d%s", at.Port, at.path()), Token: at.Secret}
	a.Dial = s.JupyterDialer(at.Port)
	return a
}

// JupyterDialer is [Sandbox.Dialer] of Jupyter's port. Once Jupyter has ended for good, it
// connects to nobody else there: who does would be sent the token.
func (s *Sandbox) JupyterDialer(port int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if err := s.jupyterRuns(ctx); err != nil {
			return nil, err
		}
		return s.runtime.DialPort(ctx, port)
	}
}

// jupyterRuns is asked before the token goes to whoever listens at the port: another
// program may, once Jupyter has ended.
func (s *Sandbox) jupyterRuns(ctx context.Context) error {
	p, err := s.runtime.Processes().Get(ctx, notebook.ProcessID)
	if protocol.CodeOf(err) == protocol.NotFound || (err == nil && p.State != protocol.ProcessRunning) {
		return &notebook.EndedError{Why: protocol.Errorf(protocol.Unavailable,
			"Jupyter of %s has ended and does not come back; its files are there: keep them with `seer snapshot %s NAME` and go on with `seer up FILE --snapshot NAME`", s.id, s.id)}
	}
	return err
}

// Prompt is what an agent is told of the sandbox: its libraries, models and the way to
// use it; of one that it may not use as a whole only the libraries. Empty where there is
// nothing to tell.
func (s *Sandbox) Prompt(ctx context.Context) (string, error) {
	_, note, err := s.sessionOf(ctx)
	return note.Prompt, err
}

func (s *Sandbox) sessionOf(context.Context) (machine.Record, sessionNote, error) {
	r, err := s.engine.ledger.Get(s.id)
	if err != nil {
		return r, sessionNote{}, as(KindNotFound, err)
	}
	return r, noteOf(r), nil
}

// shellSession is the name of the session token that Seer makes itself.
const shellSession = "cli"

// Shell makes the key of a session that uses the sandbox by commands and files; each
// one replaces the one before it under its name. Empty name = "cli".
func (s *Sandbox) Shell(ctx context.Context, name string) (client.Session, error) {
	if name == "" {
		name = shellSession
	}
	key := client.Session{Version: client.SessionVersion, Kind: protocol.SessionShell, Endpoint: s.runtime.Endpoint(), Token: protocol.NewToken(), Sandbox: s.id}
	return key, as(KindProvider, s.runtime.Sessions().Put(ctx, name, key.Token))
}

// EndShell revokes the key of a session. What it has started goes on.
func (s *Sandbox) EndShell(ctx context.Context, name string) error {
	if name == "" {
		name = shellSession
	}
	return as(KindProvider, s.runtime.Sessions().Delete(ctx, name))
}
