package engine

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

// layerFile is what a layer tells of itself. The time of the file is when it was used last.
const layerFile = "layer.json"

// layerNote is its content.
type layerNote struct {
	Packages []string `json:"packages,omitempty"`
	Below    string   `json:"below,omitempty"` // key of the layer that it stands upon
	Bytes    int64    `json:"bytes"`
}

// note writes it into the folder that is to be the layer.
func (l *layer) note(ctx context.Context, folder string) error {
	n := layerNote{Packages: l.packages}
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
	return state.WriteFile(filepath.Join(folder, layerFile), append(data, '\n'), 0o600)
}

// used notes that somebody starts with the layer now, so that nobody prunes it.
func (l *layer) used(now time.Time) error {
	err := os.Chtimes(filepath.Join(l.dir, layerFile), now, now)
	if errors.Is(err, fs.ErrNotExist) { // somebody takes its files away; it is not ours to tell
		return nil
	}
	return err
}
