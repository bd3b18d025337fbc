package store

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/remedy"
)

// LockError says which plugins of a lock are not there as it says.
type LockError struct {
	Dir      string
	Problems []string // a line for each plugin
}

func (e *LockError) Error() string {
	return fmt.Sprintf("%s names plugins that are not there as it says:\n  %s\ninstall what it names", filepath.Join(e.folder(), LockFile), strings.Join(e.Problems, "\n  "))
}

func (e *LockError) folder() string {
	if abs, err := filepath.Abs(e.Dir); err == nil {
		return abs
	}
	return e.Dir
}

// Remedy implements [remedy.Carrier].
func (e *LockError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.InstallLocked, Folder: e.folder()}}
}

// Use gives the folders of exactly the plugins that a lock names, for a host to search.
// It asks no network. The error is a [LockError] about all that are missing.
func (s *Store) Use(l *Lock) ([]string, error) {
	var dirs, problems []string
	for _, id := range slices.Sorted(maps.Keys(l.Plugins)) {
		in, err := s.Locked(id, l.Plugins[id])
		var absent *NotStoredError
		switch {
		case errors.As(err, &absent):
			problems = append(problems, fmt.Sprintf("%s %s: it is not installed", id, l.Plugins[id].Version))
			continue
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s %s: %v", id, l.Plugins[id].Version, err))
			continue
		}
		dirs = append(dirs, in.Dir)
	}
	if len(problems) > 0 {
		return nil, &LockError{l.Dir, problems}
	}
	return dirs, nil
}

// Locked is the stored bundle that a lock names. It must be what the lock says in every
// respect; one that is not stored is a [NotStoredError].
func (s *Store) Locked(id string, want Locked) (Installed, error) {
	in, err := s.usable(want.Digest)
	if err != nil {
		return in, err
	}
	if in.ID != id {
		return in, fmt.Errorf("the digest that the lock says is of %s", in.ID)
	}
	return in, want.Check(id, LockedOf(in))
}

// LockedOf is how a lock names a stored bundle.
func LockedOf(in Installed) Locked {
	return Locked{Reference: in.Origin.Reference, Digest: in.Digest, OCI: in.Origin.OCI, Version: in.Version, Signer: in.Signer,
		Permissions: in.Access.Hash(), Contract: in.Manifest.Implements}
}

// Check compares what a lock says of a plugin with what it is. Where a bundle is from
// does not matter: its digest is the same. Nor does a signature that has come since.
func (p Locked) Check(id string, got Locked) error {
	for _, part := range []struct{ what, want, got string }{
		{"digest", p.Digest, got.Digest},
		{"version", p.Version, got.Version},
		{"permissions", p.Permissions, got.Permissions},
		{"contract", strings.Join(p.Contract, ", "), strings.Join(got.Contract, ", ")},
	} {
		if part.want != part.got {
			return fmt.Errorf("the lock says %s %s of %s, and it is %s", part.what, part.want, id, part.got)
		}
	}
	switch {
	case p.Signer == "" || p.Signer == got.Signer:
		return nil
	case got.Signer == "":
		return fmt.Errorf("the lock says that %s is signed by %s, and it is not signed", id, p.Signer)
	default:
		return fmt.Errorf("the lock says that %s is signed by %s, and it is signed by %s", id, p.Signer, got.Signer)
	}
}
