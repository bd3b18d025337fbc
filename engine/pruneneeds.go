package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/snapshot"
)

// needs are what sandboxes and snapshots need of what can be pruned.
type needs struct {
	layers map[string]bool // by key
	models map[string]bool // by folder
	images map[string]bool // by folder
	bases  map[string]bool // images by digest

	// A sandbox that runs has used what it needs since it began, and saved processes can
	// need anything that was there when they were saved.
	since time.Time // zero = nothing runs
	until time.Time // zero = there are no saved processes
}

// time reports whether something may be needed by when it was used or made.
func (n needs) time(k kept) bool {
	return !n.since.IsZero() && !k.last.Before(n.since) || !k.made.After(n.until) && !n.until.IsZero()
}

func (e *Engine) needs(ctx context.Context) (needs, error) {
	n := needs{layers: map[string]bool{}, models: map[string]bool{}, images: map[string]bool{}, bases: map[string]bool{}}
	records, err := e.ledger.List()
	if err != nil {
		return n, err
	}
	for _, r := range records {
		if !r.Live() {
			continue
		}
		n.layers[noteOf(r).Layer] = true
		for _, m := range r.Models {
			n.models[m.Local] = true
		}
		// What it uses may have been made long before the machine was.
		if begun := r.CreatedAt.Add(-buildTimeout); n.since.IsZero() || begun.Before(n.since) {
			n.since = begun
		}
	}
	store, err := e.Snapshots()
	if err != nil && !errors.Is(err, errNoSnapshots) { // what they need is not known
		return n, err
	}
	if err == nil {
		saved, err := store.List(ctx)
		if err != nil {
			return n, err
		}
		for _, s := range saved {
			for _, key := range s.Layers {
				n.layers[key] = true
			}
			if s.Kind == snapshot.Memory && s.Created.After(n.until) {
				n.until = s.Created
			}
		}
	}
	return n, e.systemsInUse(n)
}

// systemsInUse reads which unpacked images the machines of this computer run in, and
// which the saved systems stand upon.
func (e *Engine) systemsInUse(n needs) error {
	dir, err := e.store.Dir("local")
	if err != nil {
		return err
	}
	for _, pattern := range []string{"", "saved"} {
		folder := filepath.Join(dir, pattern)
		entries, err := os.ReadDir(folder)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for _, entry := range entries {
			var note struct {
				Base   string `json:"base"` // of a saved system
				System struct {
					Dir string `json:"dir"`
				} `json:"system"` // of a machine
			}
			if !strings.HasSuffix(entry.Name(), ".json") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			if err != nil || json.Unmarshal(data, &note) != nil {
				continue // it ended meanwhile
			}
			n.images[note.System.Dir] = true
			if _, digest, ok := strings.Cut(note.Base, "@"); ok {
				n.bases[digest] = true
			}
		}
	}
	return nil
}
