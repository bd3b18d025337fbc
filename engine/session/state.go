// Package session starts what people and agents use a sandbox with: the working folder,
// Jupyter, a prepared interpreter and VS Code. It keeps in the ledger where they are, and
// leads to them.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/remedy"
)

// stateKey is where the record of a sandbox has its session.
const stateKey = "session"

// State is what the record of a sandbox keeps of how people and agents use it.
type State struct {
	Mode       string          `json:"mode,omitempty"`
	Config     json.RawMessage `json:"config,omitempty"` // the experiment as it was understood
	Jupyter    *Endpoint       `json:"jupyter,omitempty"`
	CodeServer *Endpoint       `json:"code_server,omitempty"`
	Prompt     string          `json:"prompt,omitempty"`  // what an agent is told of the sandbox
	Network    string          `json:"network,omitempty"` // its mode, or the hosts that it can reach
	Layer      string          `json:"layer,omitempty"`   // key of what it is shown of packages and repositories
	Setup      string          `json:"setup,omitempty"`   // [Starter.SetupKey] of what kernels and interpreters begin with
	Sessions   []Opened        `json:"sessions,omitempty"`
	// Hidden says which names of models an agent must not find; nil = none.
	Hidden *namesearch.Spec `json:"hidden,omitempty"`
	// Verifying marks a sandbox of saved processes that nobody may have yet: whether they
	// are what was saved is not known, or their keys are still the original's.
	Verifying bool `json:"verifying,omitempty"`
}

// Endpoint is a program of the sandbox that people and agents connect to.
type Endpoint struct {
	Port   int    `json:"port"`
	Secret string `json:"secret"`
	Base   string `json:"base,omitempty"` // the path of all its pages, with a slash at both ends; empty = "/"
}

// newBase is a path that nobody can guess. Browsers send the cookies of one page of this
// computer to all its ports, but only to the paths that they are for: no sandbox's page is
// sent those of another's.
func newBase() string { return "/" + protocol.NewToken()[:16] + "/" }

func (e Endpoint) path() string { return cmp.Or(e.Base, "/") }

// withToken is the URL with the token, at an address that leads to the port.
func (e Endpoint) withToken(address string) string {
	return address + e.path() + "?token=" + url.QueryEscape(e.Secret)
}

// StateOf reads the session from a record. It is empty for a sandbox without one.
func StateOf(r machine.Record) (state State) {
	_ = json.Unmarshal(r.Extra[stateKey], &state)
	return state
}

// SetState changes what a record keeps of the session. What a newer Seer has noted there stays.
func SetState(r *machine.Record, change func(*State)) error {
	state := StateOf(*r)
	known, err := json.Marshal(state) // now, as change may change what state leads to
	if err != nil {
		return err
	}
	change(&state)
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	r.Extra[stateKey] = machine.KeepUnknown(r.Extra[stateKey], known, data)
	return nil
}

// CheckReady refuses a sandbox that nobody may have yet; see [State].Verifying.
func CheckReady(r machine.Record) error {
	if !r.Live() || !StateOf(r).Verifying {
		return nil
	}
	err := protocol.Errorf(protocol.Unavailable, "the sandbox %s cannot be used yet: its restored processes are still being verified; if the program that starts it has died, end the sandbox", r.ID)
	return &errdefs.Error{Kind: errdefs.KindProvider, Err: remedy.For(err, remedy.Remedy{Action: remedy.EndSandbox, Sandbox: r.ID})}
}

// Ledger is where the records of sandboxes are.
type Ledger interface {
	Get(id string) (machine.Record, error)
	Update(ctx context.Context, id string, change func(*machine.Record) error) (machine.Record, error)
}

// State reads the record of the sandbox and what that keeps of the session.
func (s Session) State() (machine.Record, State, error) {
	r, err := s.Ledger.Get(s.ID)
	if err != nil {
		return r, State{}, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	return r, StateOf(r), nil
}

// Update changes what the ledger keeps of the session.
func (s Session) Update(ctx context.Context, change func(*State)) error {
	_, err := s.Ledger.Update(ctx, s.ID, func(r *machine.Record) error { return SetState(r, change) })
	return errdefs.Wrap(errdefs.KindInternal, err)
}

func unsupported(format string, args ...any) error {
	return &errdefs.Error{Kind: errdefs.KindUnsupported, Err: fmt.Errorf(format, args...)}
}
