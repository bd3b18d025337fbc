package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/access"
)

// Adoption is what an installation decides. All of it holds at once, or nothing.
type Adoption struct {
	ID       string
	Digest   string // of a bundle in the store
	Grant    *Grant // nil = none is needed, or it stands already
	Under    string // module whose grant Grant follows, and which must still hold; "" = the user has just said yes
	Activate bool   // make it the version that is used; else it is only kept
	Signer   string // fingerprint; remembered if no signer of the plugin is yet; "" = unsigned
	Unlooked bool   // the policy wants no look at signatures
}

// ErrRevoked is the answer to an update under a grant that was taken back meanwhile.
var ErrRevoked = errors.New("the grant that the update would follow was taken back meanwhile; install it again")

// Adopt makes a decision of an installation hold.
func (s *Store) Adopt(ctx context.Context, a Adoption) error {
	return s.update(ctx, func(l *ledger) error {
		if _, err := s.Lookup(a.Digest); err != nil {
			return err
		}
		if err := l.pin(a, seconds(s.now())); err != nil {
			return err
		}
		if a.Grant != nil {
			if old, ok := l.grantOf(a.ID, a.Under); a.Under != "" && (!ok || len(a.Grant.Lines.Without(old.Lines)) > 0) {
				return ErrRevoked
			}
			l.grant(*a.Grant, seconds(s.now()))
		}
		if a.Activate {
			l.Active[a.ID] = a.Digest
			delete(l.Pending, a.ID)
		}
		return nil
	})
}

func (l *ledger) pin(a Adoption, now time.Time) error {
	known := l.Signers[a.ID].Fingerprint
	switch {
	case a.Unlooked || a.Signer == known:
		return nil
	case known != "":
		return signerChanged(a.ID, known, a.Signer)
	}
	l.Signers[a.ID] = Signer{a.Signer, now}
	return nil
}

// SetPending notes that a version waits for a grant. The active one stays.
func (s *Store) SetPending(ctx context.Context, id, digest string) error {
	return s.update(ctx, func(l *ledger) error {
		if _, err := s.Lookup(digest); err != nil {
			return err
		}
		l.Pending[id] = digest
		return nil
	})
}

// Grant allows a module what g.Lines say, instead of what it was allowed before. If it
// is the version of a plugin that waits for it, that becomes active.
func (s *Store) Grant(ctx context.Context, g Grant) error {
	waiting, err := s.pendingWith(g.ID, g.Digest)
	if err != nil {
		return err
	}
	return s.update(ctx, func(l *ledger) error {
		if waiting != nil && l.Pending[g.ID] == waiting.Digest {
			a := Adoption{ID: g.ID, Signer: waiting.Signer, Unlooked: waiting.Signer == ""}
			if err := l.pin(a, seconds(s.now())); err != nil {
				return err
			}
			l.Active[g.ID] = waiting.Digest
			delete(l.Pending, g.ID)
		}
		l.grant(g, seconds(s.now()))
		return nil
	})
}

func (l *ledger) grant(g Grant, now time.Time) {
	l.Grants = slices.DeleteFunc(l.Grants, func(old Grant) bool { return old.ID == g.ID && old.Digest == g.Digest })
	g.Asked, g.Lines, g.Time = access.Make(g.Asked...), access.Make(g.Lines...), now
	l.Grants = append(l.Grants, g)
}

// pendingWith is the waiting version of a plugin, if it has that module.
func (s *Store) pendingWith(id, wasm string) (*Installed, error) {
	l, err := s.read()
	if err != nil || l.Pending[id] == "" {
		return nil, err
	}
	in, err := s.Lookup(l.Pending[id])
	if err != nil || in.Wasm != wasm {
		return nil, nil //nolint:nilerr // what waits is gone or another: the grant is not of it
	}
	return &in, nil
}

// GrantFolder allows whatever is built in a folder of the user's what f.Lines say. The
// folder must be such that nobody else can put something there.
func (s *Store) GrantFolder(ctx context.Context, f FolderGrant) error {
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("grant a folder: %w", err)
	}
	if err := ownFolder(dir); err != nil {
		return err
	}
	f.Dir, f.Asked, f.Lines, f.Time = dir, access.Make(f.Asked...), access.Make(f.Lines...), seconds(s.now())
	return s.update(ctx, func(l *ledger) error {
		l.Folders = slices.DeleteFunc(l.Folders, func(old FolderGrant) bool { return old.ID == f.ID && old.Dir == f.Dir })
		l.Folders = append(l.Folders, f)
		return nil
	})
}

// Revoke takes all grants of a plugin back, and tells how many there were.
func (s *Store) Revoke(ctx context.Context, id string) (int, error) {
	n := 0
	err := s.update(ctx, func(l *ledger) error {
		n = len(l.Grants) + len(l.Folders)
		l.Grants = slices.DeleteFunc(l.Grants, func(g Grant) bool { return g.ID == id })
		l.Folders = slices.DeleteFunc(l.Folders, func(f FolderGrant) bool { return f.ID == id })
		n -= len(l.Grants) + len(l.Folders)
		if n == 0 {
			return errNothing
		}
		return nil
	})
	if errors.Is(err, errNothing) {
		return 0, nil
	}
	return n, err
}

var errNothing = errors.New("nothing to change")

// Grants are all grants, in the order in which they were given.
func (s *Store) Grants() ([]Grant, []FolderGrant, error) {
	l, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	return l.Grants, l.Folders, nil
}

// GrantOf is the grant of a module.
func (s *Store) GrantOf(id, wasm string) (Grant, bool, error) {
	l, err := s.read()
	if err != nil {
		return Grant{}, false, err
	}
	g, ok := l.grantOf(id, wasm)
	return g, ok, nil
}

func (l *ledger) grantOf(id, wasm string) (Grant, bool) {
	i := slices.IndexFunc(l.Grants, func(g Grant) bool { return g.ID == id && g.Digest == wasm })
	if i < 0 {
		return Grant{}, false
	}
	return l.Grants[i], true
}

func seconds(now time.Time) time.Time { return now.UTC().Truncate(time.Second) }
