// Package newsession makes sessions in sandboxes that already run: it brings a workspace,
// loads models, and says what an agent's program needs to work there. A session of kind local
// needs no sandbox.
package newsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Options say which session is made.
type Options struct {
	Name     string         // unique in the sandbox; empty = the kind, and a number where that is taken
	Kind     workspace.Kind // empty = the one that fits the sandbox
	Contents workspace.Workspace
	// Dir is the folder of the agent's program on this computer, which is made and gets what
	// belongs there: absolute. Empty = the program has none.
	Dir string
	// Seer is the path of the program that serves the tools of a sandbox; empty = it is not
	// known, and no MCP server is described.
	Seer     string
	Progress event.Func
}

// Opened is a session.
type Opened struct {
	Name       string                   `json:"name"`
	Kind       workspace.Kind           `json:"kind"`
	Prompt     string                   `json:"prompt" jsonschema:"for the agent"`
	JupyterURL string                   `json:"jupyter_url,omitempty" jsonschema:"with the token; of a notebook session where a way leads to it"`
	KeyFile    string                   `json:"key_file,omitempty" jsonschema:"of a cli session: opens the sandbox until the session ends"`
	MCPServers map[string]sdk.MCPServer `json:"mcp_servers,omitempty"`
	Env        map[string]string        `json:"env,omitempty" jsonschema:"variables of the agent's program"`
}

// Host is a sandbox in which sessions are made.
type Host struct {
	session.Session
	Records surface.Records
	Report  event.Reporter
}

var names = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// endTimeout is how long a session that could not be made is taken back.
const endTimeout = 10 * time.Second

// New makes a session. When it fails, no session is there; files that were brought stay.
func (h Host) New(ctx context.Context, o Options) (Opened, error) {
	exp, record, err := h.experiment(&o)
	if err != nil {
		return Opened{}, err
	}
	starter := session.Starter{Session: h.Session, Experiment: exp, Contents: o.Contents, Report: h.Report}
	made := Opened{Kind: o.Kind, Prompt: session.Prompt(exp, o.Contents)}
	if err := h.search(ctx, exp, o, made.Prompt); err != nil {
		return Opened{}, err
	}
	if made.Name, err = h.reserve(ctx, o, starter.SetupKey()); err != nil {
		return Opened{}, err
	}
	err = h.fill(ctx, &made, o, starter)
	if err == nil {
		err = h.scan(ctx, exp, record)
	}
	if err == nil && exp.Sandbox.Whole() {
		err = h.Update(ctx, func(s *session.State) { s.Prompt = made.Prompt })
	}
	if err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		return Opened{}, errors.Join(err, h.End(ending, made.Name))
	}
	return made, nil
}

// experiment is that of the sandbox, with the workspace of the session. It refuses a sandbox in
// which no such session can be.
func (h Host) experiment(o *Options) (*experiment.Experiment, machine.Record, error) {
	r, state, err := h.State()
	if err != nil {
		return nil, r, err
	}
	if !r.Live() {
		return nil, r, refuse(errdefs.KindNotFound, "the sandbox %s has ended: %s; start another one", r.ID, r.Message)
	}
	if err := session.CheckReady(r); err != nil {
		return nil, r, err
	}
	if o.Name != "" && !names().MatchString(o.Name) {
		return nil, r, refuse(errdefs.KindConfig, "the session cannot have the name %q: use letters, digits and . _ -, at most 80", o.Name)
	}
	if err := o.Contents.Check(); err != nil {
		return nil, r, errdefs.Wrap(errdefs.KindConfig, err)
	}
	if o.Kind, err = fitting(o.Kind, r.ID, state.Mode); err != nil {
		return nil, r, err
	}
	exp, err := experiment.FromConfig(state.Config)
	if err != nil {
		return nil, r, errdefs.Wrap(errdefs.KindInternal, err)
	}
	w := &exp.Workspace
	w.Init, w.NoPreload, w.ShowsLoading = o.Contents.Init, !o.Contents.PreloadModels, !o.Contents.HiddenModelLoading
	if w.Init != "" && !exp.Sandbox.Whole() {
		return nil, r, noInit()
	}
	return exp, r, nil
}

func noInit() error {
	return refuse(errdefs.KindUnsupported, "a local session has no Python that init could run in: put the code into a library, or make a notebook or cli session")
}

// fitting is the kind of session that the mode of the sandbox has.
func fitting(kind workspace.Kind, id, mode string) (workspace.Kind, error) {
	fits := workspace.Kind(mode)
	if fits == workspace.Scoped {
		fits = workspace.Local
	}
	switch kind {
	case "", fits:
		return fits, nil
	case workspace.Notebook, workspace.CLI, workspace.Local:
		return "", refuse(errdefs.KindUnsupported, "the sandbox %s cannot have a %s session: it was started for %s sessions; start one with the execution_mode %s", id, kind, fits, kind)
	}
	return "", refuse(errdefs.KindConfig, "%q is not a kind of session; there are notebook, cli and local", kind)
}

// reserve finds the name, and refuses a set-up that would change what another session has.
func (h Host) reserve(ctx context.Context, o Options, setup string) (name string, err error) {
	_, err = h.Ledger.Update(ctx, h.ID, func(r *machine.Record) error {
		state := session.StateOf(*r)
		taken := func(name string) bool {
			return slices.ContainsFunc(state.Sessions, func(s session.Opened) bool { return s.Name == name })
		}
		if taken(o.Name) {
			return refuse(errdefs.KindConflict, "the sandbox %s has a session %s already: close it, or give this one another name", h.ID, o.Name)
		}
		if len(state.Sessions) > 0 && state.Setup != setup && o.Kind != workspace.Local {
			return refuse(errdefs.KindConflict, "the sandbox %s has the session %s, which begins with other models or another init: close it, or start another sandbox", h.ID, state.Sessions[0].Name)
		}
		if name = o.Name; name == "" {
			name = string(o.Kind)
			for i := 2; taken(name); i++ {
				name = fmt.Sprintf("%s-%d", o.Kind, i)
			}
		}
		return session.SetState(r, func(s *session.State) {
			s.Sessions = append(s.Sessions, session.Opened{Name: name, Kind: o.Kind})
		})
	})
	return name, errdefs.Wrap(errdefs.KindInternal, err)
}

// fill brings what belongs to the session to the agent's folder and to the sandbox.
func (h Host) fill(ctx context.Context, made *Opened, o Options, starter session.Starter) error {
	files, err := agentFiles(o)
	if err != nil {
		return err
	}
	switch {
	case o.Kind == workspace.CLI && o.Dir != "":
		key, err := h.Shell(ctx, keyOf(made.Name))
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(key, "", "  ")
		if err != nil {
			return err
		}
		name := h.ID + "-" + made.Name + ".session.json" // unique, for sessions may share a folder
		made.KeyFile = filepath.Join(o.Dir, name)
		files = append(files, surface.File{Path: name, Data: text, Mode: 0o600})
	case o.Kind == workspace.Notebook:
		made.JupyterURL, _ = h.JupyterURL() // without a way to it, the tools go through the runtime
	}
	if o.Dir != "" {
		if err := surface.WriteFiles(ctx, o.Dir, files, h.Records); err != nil {
			return errdefs.Wrap(errdefs.KindConflict, err)
		}
	}
	if err := starter.Add(ctx); err != nil {
		return err
	}
	made.describe(o, h.ID)
	return nil
}

// End ends a session. What it has started, its files and its variables stay until the sandbox
// ends. One that has ended is none.
func (h Host) End(ctx context.Context, name string) error {
	r, state, err := h.State()
	if err != nil {
		return err
	}
	is := func(o session.Opened) bool { return o.Name == name }
	at := slices.IndexFunc(state.Sessions, is)
	if at < 0 {
		return nil
	}
	if state.Sessions[at].Kind == workspace.CLI && r.Live() {
		// Before the session leaves the ledger: after a failure, a second End must find it.
		if err := h.EndShell(ctx, keyOf(name)); err != nil {
			return err
		}
	}
	return h.Update(ctx, func(s *session.State) { s.Sessions = slices.DeleteFunc(s.Sessions, is) })
}

func keyOf(name string) string { return "session-" + name }

func refuse(kind errdefs.Kind, format string, args ...any) error {
	return &errdefs.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
