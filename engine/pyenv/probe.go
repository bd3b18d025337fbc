package pyenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/state"
)

// probed is an interpreter with what it depends on: the folders of its packages, which
// every installation changes.
type probed struct {
	Python  preflight.Python `json:"python"`
	Changed map[string]int64 `json:"changed"`
}

// Probe asks an interpreter what it has, or remembers what it has said: with many
// packages the asking takes as long as the rest of a start.
func (f *Finder) Probe(ctx context.Context, path string) (*preflight.Python, error) {
	dir, err := f.o.Store.Cache("python")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("2\n" + path + "\n" + f.note(func(string) string { return path })))
	note := filepath.Join(dir, hex.EncodeToString(sum[:])[:32]+"-packages.json")
	var known probed
	if data, err := os.ReadFile(note); err == nil && json.Unmarshal(data, &known) == nil && known.fresh() {
		return &known.Python, nil
	}
	found, err := preflight.ProbePython(ctx, path)
	if err != nil {
		return nil, err
	}
	known = probed{Python: *found, Changed: map[string]int64{}}
	for _, folder := range append(found.Folders, path) {
		known.Changed[folder] = changed(folder)
	}
	if data, err := json.Marshal(known); err == nil {
		_ = state.WriteFile(note, data, 0o600) // only spares the next asking
	}
	return found, nil
}

func (p probed) fresh() bool {
	for folder, when := range p.Changed {
		if changed(folder) != when {
			return false
		}
	}
	return len(p.Changed) > 0
}

// changed is when a folder was changed; 0 = there is none.
func changed(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}
