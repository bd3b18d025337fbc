package build

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// manifestFile is what a layer tells of itself. The time of the file is when it was used last.
const manifestFile = "layer.json"

// manifest is its content.
type manifest struct {
	Packages []string `json:"packages,omitempty"`
	Below    string   `json:"below,omitempty"` // key of the layer that it stands upon
	Bytes    int64    `json:"bytes"`
}

// writeManifest writes it into the folder that is to be the layer.
func (l *layer) writeManifest(ctx context.Context, folder string) error {
	n := manifest{Packages: l.packages}
	if l.below != nil {
		n.Below = l.below.key
	}
	var err error
	if n.Bytes, err = state.DiskUse(ctx, folder); err != nil {
		return err
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(folder, manifestFile), append(data, '\n'), 0o600)
}

// used notes that somebody starts with the layer now, so that nobody prunes it.
func (l *layer) used(now time.Time) error {
	err := os.Chtimes(filepath.Join(l.dir, manifestFile), now, now)
	if errors.Is(err, fs.ErrNotExist) { // somebody takes its files away; it is not ours to tell
		return nil
	}
	return err
}
