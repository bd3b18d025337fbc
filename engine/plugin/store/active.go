package store

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
)

// Active are the versions that are used: plugin id → digest of the bundle.
func (s *Store) Active() (map[string]string, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	return l.Active, nil
}

// Pending are the versions that wait for a grant: plugin id → digest of the bundle.
func (s *Store) Pending() (map[string]string, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	return l.Pending, nil
}

// Activate makes a stored version the one that is used, such as an older one again.
func (s *Store) Activate(ctx context.Context, digest string) error {
	return s.update(ctx, func(l *ledger) error {
		in, err := s.Lookup(digest)
		if err != nil {
			return err
		}
		l.Active[in.ID] = digest
		if l.Pending[in.ID] == digest {
			delete(l.Pending, in.ID)
		}
		return nil
	})
}

// Deactivate lets no version of a plugin be used. They stay in the store.
func (s *Store) Deactivate(ctx context.Context, id string) error {
	return s.update(ctx, func(l *ledger) error {
		delete(l.Active, id)
		delete(l.Pending, id)
		return nil
	})
}

// Dirs are the folders of the active versions, by id, for a host to search. The error
// names those that cannot be used; the others are there nevertheless.
// Each of them is a [BrokenError].
func (s *Store) Dirs() ([]string, error) {
	active, err := s.Active()
	if err != nil {
		return nil, err
	}
	var dirs []string
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(active)) {
		in, err := s.usable(active[id])
		if err != nil {
			errs = append(errs, &BrokenError{id, active[id], err})
			continue
		}
		dirs = append(dirs, in.Dir)
	}
	return dirs, errors.Join(errs...)
}

// usable is a bundle whose files are what was installed. The module of a plugin that asks
// for something is left to [Store.Decide], which is told the digest that the host has
// found: reading a large module twice is felt.
func (s *Store) usable(digest string) (Installed, error) {
	in, err := s.Lookup(digest)
	if err != nil {
		return in, err
	}
	if len(in.Access) > 0 {
		_, err = os.Stat(in.File())
		return in, err
	}
	_, err = s.Get(digest)
	return in, err
}

// BrokenError says that the active version of a plugin cannot be used.
type BrokenError struct {
	ID     string
	Digest string // of the bundle
	Err    error
}

func (e *BrokenError) Error() string { return "the active version of " + e.ID + ": " + e.Err.Error() }
func (e *BrokenError) Unwrap() error { return e.Err }
