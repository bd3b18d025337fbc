package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"encoding/json"

	"github.com/seer-engine/seer/engine/state"
)

// Stored is a root in the cache.
type Stored struct {
	Root
	Refs    []string // the references that named it last
	Base    string   // of a derived one: the digest of what it is derived from
	Bytes   int64    // of its files; what a derived one shares with its base counts in both
	Files   int64
	Created time.Time
	LastUse time.Time
}

// List returns the roots that are in the cache in dir. A cache that is not there is empty.
func List(dir string) ([]Stored, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "roots"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	refs := refsIn(dir)
	var all []Stored
	for _, e := range entries {
		at := filepath.Join(dir, "roots", e.Name())
		r, err := readRecord(at)
		if err != nil || strings.Contains(e.Name(), ".") {
			continue // being made, or being removed
		}
		st := Stored{Base: r.Base, Bytes: r.Bytes, Files: r.Files, Created: r.Created, LastUse: r.Created, Refs: refs[r.Digest],
			Root: Root{filepath.Join(at, "tree"), r.Digest, r.Env, r.Workdir, r.User, r.Platform}}
		if info, err := os.Stat(filepath.Join(at, "root.json")); err == nil {
			st.LastUse = info.ModTime()
		}
		all = append(all, st)
	}
	return all, nil
}

func refsIn(dir string) map[string][]string {
	refs := map[string][]string{}
	entries, _ := os.ReadDir(filepath.Join(dir, "refs")) // without them, roots have no names
	for _, e := range entries {
		var n named
		data, err := os.ReadFile(filepath.Join(dir, "refs", e.Name()))
		if err == nil && json.Unmarshal(data, &n) == nil {
			refs[n.Digest] = append(refs[n.Digest], n.Ref)
		}
	}
	return refs
}

// Prune removes the roots for which keep says no, and what downloads and programs that
// were killed have left. The caller keeps what sandboxes use: a root has no other guard, but
// that one which was used since Prune began stays.
// It returns the bytes of what was removed.
func Prune(dir string, keep func(Stored) bool) (int64, error) {
	s, err := openStore(dir)
	if err != nil {
		return 0, err
	}
	all, err := List(s.dir)
	if err != nil {
		return 0, err
	}
	var freed int64
	var errs []error
	for _, st := range all {
		if keep(st) {
			continue
		}
		n, err := s.discard(st)
		freed += n
		errs = append(errs, err)
	}
	errs = append(errs, s.sweepRoots(), s.sweepBlobs(), s.sweepRefs(), state.SweepLocks(filepath.Join(s.dir, "locks"), func(string) bool { return false }))
	return freed, errors.Join(errs...)
}

// discard takes a root its name away first, so that a part of one is never used.
func (s store) discard(st Stored) (int64, error) {
	at := s.root(st.Digest)
	lock, held, err := state.TryAcquire(filepath.Join(s.dir, "locks", filepath.Base(at)))
	if err != nil || held {
		return 0, err
	}
	defer lock.Remove()
	// To remove the roots before this one may have taken minutes.
	if info, err := os.Stat(filepath.Join(at, "root.json")); err == nil && info.ModTime().After(st.LastUse) {
		return 0, nil
	}
	gone := at + ".partial"
	if err := removeTree(gone); err != nil {
		return 0, err
	}
	if err := os.Rename(at, gone); errors.Is(err, fs.ErrNotExist) {
		return 0, nil // another program was faster
	} else if err != nil {
		return 0, err
	}
	return st.Bytes, removeTree(gone)
}

func (s store) sweepRoots() error {
	found, err := filepath.Glob(filepath.Join(s.dir, "roots", "*.partial"))
	for _, at := range found {
		err = errors.Join(err, s.unlessHeld(strings.TrimSuffix(filepath.Base(at), ".partial"), func() error { return removeTree(at) }))
	}
	return err
}

func (s store) sweepBlobs() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "blobs"))
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".part")
		err = errors.Join(err, s.unlessHeld("blob-"+name, func() error { return remove(filepath.Join(s.dir, "blobs", e.Name())) }))
	}
	return err
}

// sweepRefs forgets the names of roots that are gone.
func (s store) sweepRefs() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "refs"))
	for _, e := range entries {
		at := filepath.Join(s.dir, "refs", e.Name())
		var n named
		data, readErr := os.ReadFile(at)
		if readErr == nil && json.Unmarshal(data, &n) == nil {
			if _, statErr := os.Stat(s.root(n.Digest)); statErr == nil {
				continue
			}
		}
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") {
			err = errors.Join(err, remove(at))
		}
	}
	return errors.Join(err, state.Sweep(filepath.Join(s.dir, "refs")))
}

// remove removes a file. Another program that prunes may be faster.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s store) unlessHeld(name string, do func() error) error {
	lock, held, err := state.TryAcquire(filepath.Join(s.dir, "locks", name))
	if err != nil || held {
		return err
	}
	defer lock.Remove()
	if err := do(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
