package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// work is a save or an import that nobody sees until it is complete.
type work struct {
	store *Store
	dir   string
	lock  *state.Lock
}

func (s *Store) begin(ctx context.Context) (*work, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	_ = s.sweepWork() // of those that were killed; Sweep tells what cannot be removed
	f, err := os.CreateTemp(s.path("tmp"), "*.lock")
	if err != nil {
		return nil, full(s.Dir, err)
	}
	_ = f.Close()
	lock, err := state.Acquire(ctx, f.Name())
	if err != nil {
		return nil, err
	}
	w := &work{store: s, dir: strings.TrimSuffix(f.Name(), ".lock"), lock: lock}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		lock.Remove()
		return nil, full(s.Dir, err)
	}
	return w, nil
}

// end removes what was not published.
func (w *work) end() {
	_ = os.RemoveAll(w.dir) // what stays, Sweep removes
	w.lock.Remove()
}

func (s *Store) sweepWork() error {
	entries, err := os.ReadDir(s.path("tmp"))
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lock")
		lock, held, lockErr := state.TryAcquire(s.path("tmp", name+".lock"))
		if lockErr != nil || held {
			err = errors.Join(err, lockErr)
			continue
		}
		err = errors.Join(err, os.RemoveAll(s.path("tmp", name)))
		lock.Remove()
	}
	return err
}

// pin keeps parts of the store for this work, even if another process removes them there.
func (w *work) pin(parts []Part) error {
	for _, p := range parts {
		err := os.Link(w.store.blob(p.Digest), w.path(p.Digest))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func (w *work) path(digest string) string {
	return filepath.Join(w.dir, strings.TrimPrefix(digest, "sha256:"))
}

// add writes a part and gives it its name.
func (w *work) add(write func(io.Writer) error) (Part, error) {
	f, err := newPart(w.dir)
	if err != nil {
		return Part{}, full(w.dir, err)
	}
	if err := write(f); err != nil {
		f.discard()
		return Part{}, full(w.dir, err)
	}
	p, err := f.finish()
	return p, full(w.dir, err)
}

func (w *work) addBytes(data []byte) (Part, error) {
	return w.add(func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

// publish moves the parts of a document into the store and then gives it its name. again
// accepts a name that the same snapshot has already.
func (w *work) publish(ctx context.Context, name string, d document, again bool) (Snapshot, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return Snapshot{}, err
	}
	if len(data) > maxDocument {
		return Snapshot{}, sdk.Errorf(sdk.Invalid, "the snapshot's document is larger than %d bytes; give it fewer labels or parts", maxDocument)
	}
	signature, err := w.store.sign(ctx, digestOf(data), name)
	if err != nil {
		return Snapshot{}, err
	}
	return w.publishDocument(ctx, name, data, d, signature, again)
}

func (w *work) publishDocument(ctx context.Context, name string, data []byte, d document, signature Signature, again bool) (Snapshot, error) {
	self, err := w.addBytes(data)
	if err != nil {
		return Snapshot{}, err
	}
	s := w.store
	lock, err := s.lock(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer lock.Release()
	if have, err := s.free(name); err != nil {
		if !again || have.ID != self.Digest {
			return Snapshot{}, err
		}
		if have.Signature != (Signature{}) { // one that is there is not replaced by a stranger's
			signature = have.Signature
		}
	}
	for _, p := range append(d.parts(), self) {
		err := os.Rename(w.path(p.Digest), s.blob(p.Digest))
		if errors.Is(err, os.ErrNotExist) {
			_, err = os.Stat(s.blob(p.Digest)) // moved already: two parts are the same
		}
		if err != nil {
			return Snapshot{}, full(s.Dir, err)
		}
	}
	if err := state.SyncDir(s.path("blobs")); err != nil {
		return Snapshot{}, err
	}
	if err := s.writeName(name, self.Digest, signature); err != nil {
		return Snapshot{}, errors.Join(err, s.collect(context.WithoutCancel(ctx)))
	}
	return s.read(name)
}

// free refuses a name that is taken, and says by whom.
func (s *Store) free(name string) (Snapshot, error) {
	sn, err := s.read(name)
	if errors.Is(err, os.ErrNotExist) {
		return Snapshot{}, nil
	}
	return sn, &ExistsError{Name: name}
}
