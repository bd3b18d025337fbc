package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/veil"
)

const (
	veiledDir = "veiled" // folder of the cache with veiled copies of models
	veilKind  = "1"      // changes when the same folder would be veiled otherwise
)

// veil puts veiled copies in the place of hidden models, where the agent has the whole
// sandbox. What their architectures tell anyway, the user is told.
func (u *up) veil(ctx context.Context) error {
	if !u.exp.Sandbox.Whole() {
		return nil
	}
	var names, except []string
	for i, m := range u.exp.Sandbox.Weights() {
		if !m.Hidden {
			continue
		}
		names = append(names, m.Name)
		if m.Path != "" {
			names = append(names, filepath.Base(m.Path))
		}
		except = append(except, architecture(u.models[i].Local)...)
	}
	if names == nil {
		return nil
	}
	var told []string
	u.hidden, told = veil.NewWords(names, except...)
	for _, word := range told {
		u.report.warn(StageModel, "the name %s of a hidden model is also that of its architecture, which has to stay: the agent can see it", word)
	}
	for i, m := range u.exp.Sandbox.Weights() {
		if !m.Hidden {
			continue
		}
		dir, err := u.engine.veiled(ctx, u.models[i].Local, u.hidden)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		u.models[i].Local = dir
	}
	return nil
}

// architecture are the words of a model's configuration that its code needs.
func architecture(dir string) []string {
	var config struct {
		ModelType     string   `json:"model_type"`
		Architectures []string `json:"architectures"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || json.Unmarshal(data, &config) != nil {
		return nil // a model without one, such as an adapter
	}
	return append(config.Architectures, config.ModelType)
}

// veiled is the veiled copy of a folder, which is made where it is not there yet.
func (e *Engine) veiled(ctx context.Context, folder string, words veil.Words) (string, error) {
	key, err := veilKey(folder, words)
	if err != nil {
		return "", err
	}
	parent, err := e.store.Cache(veiledDir)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, key)
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	if _, err := os.Lstat(dir); err == nil {
		now := e.now()
		return dir, os.Chtimes(dir, now, now) // so that nobody prunes it
	}
	partial := dir + partialName
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if _, err := veil.Make(ctx, folder, partial, words); err != nil {
		return "", err
	}
	return dir, os.Rename(partial, dir)
}

// veilKey names what a veiled copy is made of.
func veilKey(folder string, words veil.Words) (string, error) {
	key := sha256.New()
	fmt.Fprintf(key, "%s\n%q\n%s\n", veilKind, words.Forms(), folder)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(key, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(key.Sum(nil))[:40], err
}

// unhidden is what a machine may be told of a model: where the agent has the whole
// sandbox, of a hidden one no name and no commit.
func (u *up) unhidden(m protocol.Model) protocol.Model {
	if m.Hidden && u.exp.Sandbox.Whole() {
		m.Name, m.Revision = m.VarName, ""
	}
	return m
}
