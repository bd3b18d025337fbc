package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// The folder:
//
//	names/NAME.json  {"id": "sha256:…"}; what has none does not exist
//	blobs/HEX        documents, indexes, layers, opaque parts
//	tmp/WORK/        what a save or an import has made so far, guarded by tmp/WORK.lock
//	lock             held while names and blobs are changed
func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.Dir}, parts...)...)
}

func (s *Store) blob(digest string) string {
	return s.path("blobs", strings.TrimPrefix(digest, "sha256:"))
}

func (s *Store) prepare() error {
	if s.Dir == "" {
		return errors.New("snapshot: Store.Dir is empty; name a private folder for snapshots")
	}
	for _, dir := range []string{"names", "blobs", "tmp"} {
		if err := os.MkdirAll(s.path(dir), 0o700); err != nil {
			return full(s.Dir, err)
		}
	}
	return nil
}

func (s *Store) lock(ctx context.Context) (*state.Lock, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return state.Acquire(ctx, s.path("lock"))
}

var idPrefix = lazyregexp.New(`^(sha256:)?[0-9a-f]{12,64}$`)

// Get finds a snapshot by its name, its ID or the first 12 or more digits of that.
func (s *Store) Get(ctx context.Context, ref string) (Snapshot, error) {
	if CheckName(ref) == nil { // what a name is, no ID is, so the others need not be read
		sn, err := s.read(ref)
		if !errors.Is(err, os.ErrNotExist) {
			return withDamage(sn, err), nil
		}
	}
	all, err := s.List(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	var hits []Snapshot
	for _, sn := range all {
		if sn.Name == ref {
			return sn, nil
		}
		if idPrefix().MatchString(ref) && strings.HasPrefix(strings.TrimPrefix(sn.ID, "sha256:"), strings.TrimPrefix(ref, "sha256:")) {
			hits = append(hits, sn)
		}
	}
	for _, sn := range hits {
		if sn.ID != hits[0].ID {
			return Snapshot{}, sdk.Errorf(sdk.Invalid, "several snapshots begin with %s; give more of it", ref)
		}
	}
	if len(hits) == 0 {
		return Snapshot{}, remedy.For(sdk.Errorf(sdk.NotFound, "there is no snapshot %.100q; list those that there are", ref), remedy.Remedy{Action: remedy.ListSnapshots})
	}
	hits[0].exact = true
	return hits[0], nil
}

// List returns all snapshots, the newest first. A store that was never used is empty.
func (s *Store) List(ctx context.Context) ([]Snapshot, error) {
	entries, err := os.ReadDir(s.path("names"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	all := []Snapshot{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !nameForm().MatchString(name) {
			continue
		}
		sn, err := s.read(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed just now
		}
		all = append(all, withDamage(sn, err))
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Created.After(b.Created) || a.Created.Equal(b.Created) && a.Name < b.Name
	})
	return all, nil
}

// withDamage adds the reason why a snapshot cannot be used, if there is one.
func withDamage(sn Snapshot, err error) Snapshot {
	if err == nil {
		return sn
	}
	sn.Damaged = err.Error()
	if sdk.CodeOf(err) == sdk.Internal { // of the operating system
		sn.unread = err
	}
	return sn
}

// read returns what is known of a snapshot, and why that is not all.
func (s *Store) read(name string) (Snapshot, error) {
	sn := Snapshot{Meta: Meta{Name: name}}
	named, err := s.readName(name)
	if err != nil {
		return sn, err
	}
	sn.ID = named.ID
	if named.Signature != nil {
		sn.Signature = *named.Signature
	}
	d, size, err := s.document(named.ID)
	if err != nil {
		return sn, err
	}
	sn.Meta, sn.Trees, sn.Blobs, sn.Bytes = d.Meta, d.Trees, d.Blobs, size
	sn.Name = name
	seen := map[string]bool{}
	for _, p := range d.parts() {
		if !seen[p.Digest] {
			sn.Bytes += p.Size
		}
		seen[p.Digest] = true
		info, err := os.Stat(s.blob(p.Digest))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return sn, absent("part", p.Digest, err)
		}
		if err != nil || info.Size() != p.Size {
			return sn, sdk.Errorf(sdk.Invalid, "its part %s is missing or was cut", p.Digest)
		}
	}
	return sn, nil
}

func (s *Store) document(id string) (document, int64, error) {
	f, err := os.Open(s.blob(id))
	if err != nil {
		return document{}, 0, absent("document", id, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return document{}, 0, err
	}
	if have := digestOf(data); have != id {
		return document{}, 0, sdk.Errorf(sdk.Invalid, "its document %s is damaged: it has the digest %s", id, have)
	}
	d, err := parseDocument(data)
	return d, int64(len(data)), err
}

// Remove deletes a snapshot, and of its parts those that no other one has.
func (s *Store) Remove(ctx context.Context, ref string) error {
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	sn, err := s.Get(ctx, ref)
	if err != nil {
		return err
	}
	if err := os.Remove(s.path("names", sn.Name+".json")); err != nil {
		return err
	}
	if err := s.collect(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the snapshot %s is removed, but what it took is not free: %w", sn.Name, err)
	}
	return nil
}

// Sweep removes what programs that were killed have left.
func (s *Store) Sweep(ctx context.Context) error {
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return errors.Join(s.sweepWork(), s.sweepNames(), s.collect(ctx))
}

// sweepNames removes what is no name: nobody who lives writes one while the lock is ours.
func (s *Store) sweepNames() error {
	entries, err := os.ReadDir(s.path("names"))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			err = errors.Join(err, os.Remove(s.path("names", e.Name())))
		}
	}
	return err
}

// collect removes blobs that belong to no snapshot. Where it is not known what belongs to
// one, because it is damaged, nothing is removed.
func (s *Store) collect(ctx context.Context) error {
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, sn := range all {
		d, _, err := s.document(sn.ID)
		if err != nil {
			if sn.Damaged != "" {
				err = sn.damage()
			}
			return fmt.Errorf("nothing is cleared away: %w", s.unusable(sn, err))
		}
		keep[s.blob(sn.ID)] = true
		for _, p := range d.parts() {
			keep[s.blob(p.Digest)] = true
		}
	}
	entries, err := os.ReadDir(s.path("blobs"))
	for _, e := range entries {
		if at := s.path("blobs", e.Name()); !keep[at] {
			err = errors.Join(err, os.Remove(at))
		}
	}
	return err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// full says what is full, if that is what err means.
func full(path string, err error) error {
	if err = state.NoSpace(path, err); errors.Is(err, state.ErrNoSpace) {
		return fmt.Errorf("the snapshot: %w", err)
	}
	return err
}
