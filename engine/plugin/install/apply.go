package install

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/engine/remedy"
)

// Consent is the user's yes.
type Consent struct {
	Hash string   // the permission hash of the plan; "" = no yes
	Only []string // grants only these of its permissions; nil = all
	By   string   // who said it and how, for people
}

// Result is what an installation came to.
type Result struct {
	Installed store.Installed `json:"installed"`
	Active    bool            `json:"active"`         // this version is the one that is used
	Pending   bool            `json:"pending"`        // it waits for a grant, and the active one stays
	Lock      string          `json:"lock,omitempty"` // the file that names it now
}

// GrantError says that a plugin was not installed because nobody has said yes, or to
// something else.
type GrantError struct {
	Plan  *Plan
	Given string // the hash that was given; "" = none
}

func (e *GrantError) Error() string {
	if e.Given != "" {
		return fmt.Sprintf("the grant %s is not of what %s %s asks for, which is %s; nothing was installed", e.Given, e.Plan.ID, e.Plan.Version, e.Plan.Hash)
	}
	return fmt.Sprintf("%s %s needs a grant, and nothing was installed; confirm the permissions that were shown, whose hash is %s", e.Plan.ID, e.Plan.Version, e.Plan.Hash)
}

// Remedy implements [remedy.Carrier].
func (e *GrantError) Remedy() []remedy.Remedy {
	if e.Given != "" {
		return nil
	}
	return []remedy.Remedy{{Action: remedy.ConfirmGrant, Plugin: e.Plan.ID, Hash: e.Plan.Hash}}
}

// Apply makes a plan hold. It stores the bundle, then decides in one step (grant, signer,
// active version), then writes the lock: whoever is killed in between leaves a store and
// a lock that both work, as they were or as they will be.
//
// Without a yes that is needed, a new version is stored and waits, and the active one
// stays; where there is none, nothing is stored and the error is a [GrantError].
func (i Installer) Apply(ctx context.Context, p *Plan, c Consent) (Result, error) {
	if c.Hash != "" && c.Hash != p.Hash {
		return Result{}, &GrantError{p, c.Hash}
	}
	waits := p.NeedsGrant && c.Hash == ""
	if waits && (p.Active == nil || p.Locked) {
		return Result{}, &GrantError{Plan: p}
	}
	a, err := p.adoption(c)
	if err != nil {
		return Result{}, err
	}
	in, err := i.Store.Put(ctx, p.bundle, p.Origin, p.signer())
	if err != nil {
		return Result{}, err
	}
	if waits {
		return Result{Installed: in, Pending: true}, i.Store.SetPending(ctx, p.ID, in.Digest)
	}
	if err := i.Store.Adopt(ctx, a); err != nil {
		return Result{Installed: in}, err
	}
	r := Result{Installed: in, Active: a.Activate}
	if p.Lock == "" {
		return r, nil
	}
	return r, i.Store.UpdateLock(ctx, p.Lock, func(l *store.Lock) error {
		l.Plugins[p.ID] = p.locked()
		r.Lock = l.File()
		return nil
	})
}

func (p *Plan) adoption(c Consent) (store.Adoption, error) {
	a := store.Adoption{ID: p.ID, Digest: p.Digest, Signer: p.signer(), Unlooked: p.unlooked, Activate: !p.Locked || p.Active == nil}
	g := store.Grant{ID: p.ID, Digest: p.Wasm, Version: p.Version, Asked: p.Access, Lines: p.Access, By: c.By}
	switch {
	case len(p.Access) == 0:
	case c.Hash != "":
		if c.Only != nil {
			g.Lines = access.Make(c.Only...)
			if other := g.Lines.Without(p.Access); len(other) > 0 {
				return a, fmt.Errorf("%s %s does not ask for %q; name lines as they are shown", p.ID, p.Version, other[0])
			}
		}
		a.Grant = &g
	case p.under != nil:
		g.Lines, g.By = p.Access.And(p.under.Lines), p.under.By
		a.Grant, a.Under = &g, p.under.Digest
	}
	return a, nil
}

// locked is how the lock names the plugin.
func (p *Plan) locked() store.Locked {
	return store.Locked{Reference: p.Origin.Reference, Digest: p.Digest, OCI: p.Origin.OCI, Version: p.Version, Signer: p.signer(),
		Permissions: p.Hash, Contract: p.Contract}
}
