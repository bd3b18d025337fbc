package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Store remembers what the user has confirmed and run, and which records are the
// user's own. Its folder is private to the user.
type Store struct {
	Dir string
	Now func() time.Time
}

// OpenStore opens the store of a folder of state, and makes its folder there.
func OpenStore(in *state.Store, now func() time.Time) (Store, error) {
	dir, err := in.Dir("trust")
	if err != nil {
		return Store{}, err
	}
	return Store{Dir: dir, Now: now}, nil
}

// kind is a folder of the store.
type kind string

const (
	confirmed kind = "confirmed" // effects, by hash: no question any more
	ran       kind = "ran"       // effects, by hash, of agents that have run
	records   kind = "records"   // run.json files, by SHA-256
)

// note is a file of the store. Only its name decides; the rest is for people.
type note struct {
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Lines   []string  `json:"lines,omitempty"`
}

// Confirmed reports whether the user has confirmed exactly these effects for good.
func (s Store) Confirmed(e Effects) (bool, error) { return s.has(confirmed, e.Hash) }

// Confirm remembers effects for good.
func (s Store) Confirm(e Effects) error { return s.add(confirmed, e.Hash, e.Subject, e.Outside) }

// HasRun reports whether an agent with these effects has run.
func (s Store) HasRun(e Effects) (bool, error) { return s.has(ran, e.Hash) }

// Run remembers that an agent with these effects has run.
func (s Store) Run(e Effects) error { return s.add(ran, e.Hash, e.Subject, e.Outside) }

// OwnRecord reports whether [Store.Record] was given this digest.
func (s Store) OwnRecord(digest string) (bool, error) { return s.has(records, digest) }

// Record remembers the digest of the log that a run of this user has written.
func (s Store) Record(digest, path string) error { return s.add(records, digest, path, nil) }

var hashForm = lazyregexp.New(`^[0-9a-f]{64}$`)

func (s Store) has(k kind, hash string) (bool, error) {
	if !hashForm().MatchString(hash) {
		return false, nil
	}
	info, err := os.Lstat(filepath.Join(s.Dir, string(k), hash+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the confirmations: %w", err)
	}
	return info.Mode().IsRegular(), nil
}

func (s Store) add(k kind, hash, subject string, lines []string) error {
	if !hashForm().MatchString(hash) {
		return nil // without effects there is nothing to remember
	}
	dir := filepath.Join(s.Dir, string(k))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store the confirmation: %w", err)
	}
	data, err := json.MarshalIndent(note{Time: s.now().UTC(), Subject: subject, Lines: lines}, "", "  ")
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(dir, hash+".json"), append(data, '\n'), 0o600)
}

func (s Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
