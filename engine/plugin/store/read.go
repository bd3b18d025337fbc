package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/remedy"
)

// again is an error that ends with what to do: install it again.
func again(format string, args ...any) error {
	return remedy.For(fmt.Errorf(format+"; install it again", args...), remedy.Remedy{Action: remedy.InstallPlugin})
}

// NotStoredError says that a bundle is not in the store.
type NotStoredError struct{ Digest string }

func (e *NotStoredError) Error() string {
	return fmt.Sprintf("no plugin with the digest %s is in the store; install it", e.Digest)
}

// Remedy implements [remedy.Carrier].
func (e *NotStoredError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.InstallPlugin}}
}

// Stored is a bundle with what is known about it.
type Stored struct {
	Installed
	Bundle bundle.Bundle
}

// Get reads a bundle and checks every byte of it against its digest.
func (s *Store) Get(digest string) (Stored, error) {
	in, err := s.Lookup(digest)
	if err != nil {
		return Stored{}, err
	}
	b := bundle.Bundle{ID: in.ID, Version: in.Version}
	for _, part := range []struct {
		suffix string
		into   *[]byte
		needed bool
	}{{".yaml", &b.Manifest, true}, {".wasm", &b.Wasm, true}, {".wasm.sig", &b.Signature, false}, {".conformance.json", &b.Report, false}} {
		data, err := os.ReadFile(filepath.Join(in.Dir, in.ID+part.suffix))
		if missing(err) && !part.needed {
			continue
		}
		if err != nil {
			return Stored{}, again("the stored plugin %s %s is incomplete: %w", in.ID, in.Version, err)
		}
		*part.into = data
	}
	if got := b.Digest(); got != digest {
		return Stored{}, again("the stored plugin %s %s in %s was changed: its digest is %s", in.ID, in.Version, in.Dir, got)
	}
	return Stored{in, b}, nil
}

// Lookup tells what a digest is, without reading its module: that the module is the
// one that is recorded is checked by whoever loads it, see [Store.Decide].
func (s *Store) Lookup(digest string) (Installed, error) {
	if !digestPattern().MatchString(digest) {
		return Installed{}, fmt.Errorf("%q is not a digest like sha256:… (64 hex digits)", digest)
	}
	return s.lookup(filepath.Base(s.folder(digest)))
}

func (s *Store) lookup(name string) (Installed, error) {
	digest, dir := "sha256:"+name, filepath.Join(s.bundles, name)
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if missing(err) {
		return Installed{}, &NotStoredError{digest}
	}
	if err != nil {
		return Installed{}, err
	}
	var in Installed
	if err := json.Unmarshal(data, &in); err != nil || !idPattern().MatchString(in.ID) {
		return Installed{}, again("%s cannot be read", filepath.Join(dir, recordFile))
	}
	in.Dir = dir
	manifest, err := os.ReadFile(filepath.Join(dir, in.ID+".yaml"))
	if err != nil {
		return Installed{}, again("the stored plugin %s %s is incomplete: %w", in.ID, in.Version, err)
	}
	if sum([]byte(in.statement(manifest))) != digest || in.Digest != digest {
		return Installed{}, again("the stored plugin %s %s in %s was changed", in.ID, in.Version, dir)
	}
	if in.Manifest, err = host.CheckManifest(filepath.Join(dir, in.ID+".yaml"), manifest); err != nil {
		return Installed{}, err // stored by a program that knew other manifests
	}
	in.Access = access.Of(in.Manifest)
	return in, nil
}

// List is everything in the store, by id and time, and what is wrong with the rest.
func (s *Store) List() ([]Installed, []error) {
	entries, err := os.ReadDir(s.bundles)
	if err != nil {
		return nil, []error{err}
	}
	var out []Installed
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() {
			continue
		}
		in, err := s.lookup(e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, in)
	}
	slices.SortFunc(out, func(a, b Installed) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), a.Time.Compare(b.Time), cmp.Compare(a.Digest, b.Digest))
	})
	return out, errs
}

// Remove takes a bundle out of the store; if it was the active one of its plugin, none
// is. Its grants stay until they are revoked.
func (s *Store) Remove(ctx context.Context, digest string) error {
	if !digestPattern().MatchString(digest) {
		return fmt.Errorf("%q is not a digest like sha256:… (64 hex digits)", digest)
	}
	forget := func(l *ledger) error {
		for _, m := range []map[string]string{l.Active, l.Pending} {
			for id, d := range m {
				if d == digest {
					delete(m, id)
				}
			}
		}
		return nil
	}
	return s.update(ctx, forget, func() error {
		if _, err := os.Stat(s.folder(digest)); missing(err) {
			return &NotStoredError{digest}
		}
		if err := s.step("remove"); err != nil {
			return err
		}
		// Renamed first, so that no half of it is ever seen.
		gone, err := os.MkdirTemp(s.bundles, staging)
		if err != nil {
			return full(s.bundles, err)
		}
		err = os.Rename(s.folder(digest), filepath.Join(gone, "old"))
		return errors.Join(err, os.RemoveAll(gone))
	})
}
