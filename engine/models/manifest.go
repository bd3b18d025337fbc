package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Manifest lists the files of one revision of a model or dataset that a sandbox has. It names
// no model, so that it can be shown where a hidden one was used.
type Manifest struct {
	Version  int             `json:"format_version"` // 1
	Revision string          `json:"revision"`
	Files    []sdk.ModelFile `json:"files"` // by their paths, each with the hash that the source has given
}

// Manifests keeps manifests, each once, under the digest of its text. Records of sandboxes name
// digests: a model may have thousands of files.
type Manifests struct {
	Dir func() (string, error)
}

const (
	manifestVersion = 1
	digestPrefix    = "sha256:"
)

// Of is the manifest of a model.
func Of(m fetch.Model) Manifest {
	return Manifest{Version: manifestVersion, Revision: m.Revision, Files: m.Files}
}

// Keep stores a manifest, and returns its digest: "sha256:" and hex.
func (s Manifests) Keep(m Manifest) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	digest := digestPrefix + hex.EncodeToString(sum[:])
	path, err := s.path(digest)
	if err != nil {
		return "", err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(text)) {
		now := time.Now() // so that it is not swept before a record names it
		return digest, os.Chtimes(path, now, now)
	}
	return digest, state.WriteFile(path, text, 0o600)
}

func (s Manifests) path(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, digestPrefix)
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%.100q is not the digest of a manifest", digest)
	}
	dir, err := s.Dir()
	return filepath.Join(dir, sum+".json"), err
}

// Load reads a manifest. One that is damaged is an error, and one that is gone
// [fs.ErrNotExist].
func (s Manifests) Load(digest string) (Manifest, error) {
	path, err := s.path(digest)
	if err != nil {
		return Manifest{}, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Manifest{}, err
	}
	sum := sha256.Sum256(text)
	if digest != digestPrefix+hex.EncodeToString(sum[:]) {
		return Manifest{}, fmt.Errorf("the list of files of a model in %s is damaged: it has another hash than its name says", path)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("read the list of files of a model in %s: %w", path, err)
	}
	return m, nil
}

// Sweep removes manifests that no record needs and that were made before a time.
func (s Manifests) Sweep(needed map[string]bool, before time.Time) error {
	dir, err := s.Dir()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		sum, ok := strings.CutSuffix(e.Name(), ".json")
		info, infoErr := e.Info()
		if !ok || needed[digestPrefix+sum] || infoErr != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}
