package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/loading"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/veil"
)

const (
	veiledDir   = "veiled" // folder of the cache with veiled copies of models
	longestLook = 10 * time.Minute

	veilKind = "1" // changes when the same folder would be veiled otherwise
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
		return dir, nil
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

// HiddenError says that the name of a hidden model can be found in its sandbox.
type HiddenError struct{ Places []string }

func (e *HiddenError) Error() string {
	const most = 10
	shown := e.Places
	more := ""
	if len(shown) > most {
		more = fmt.Sprintf(" and %d more places", len(shown)-most)
		shown = shown[:most]
	}
	return "the name of a hidden model can be found in the sandbox: " + strings.Join(shown, ", ") + more + "; take it out there, or set hidden: false"
}

// probe looks for the names of hidden models wherever an agent in the sandbox could, and
// in what it is told. It is an error of [KindConfig] when one is found.
func (u *up) probe(ctx context.Context, s *Sandbox, prompt string) error {
	if u.hidden.Empty() {
		return nil
	}
	u.report.info(StageSession, "looking for the names of hidden models")
	places, err := u.searched(ctx, s)
	if err != nil {
		return err
	}
	seen, err := u.looked(ctx, s)
	if err != nil {
		return err
	}
	seen["the prompt"] = prompt
	for _, where := range slices.Sorted(maps.Keys(seen)) {
		if u.hidden.In([]byte(seen[where])) {
			places = append(places, where+" of the interpreter")
		}
	}
	if len(places) > 0 {
		return &Error{KindConfig, &HiddenError{places}}
	}
	u.report.done(StageSession, "no name of a hidden model can be found in the sandbox")
	return nil
}

// searched are the places of the file tree and the processes that have a name.
func (u *up) searched(ctx context.Context, s *Sandbox) ([]string, error) {
	input, err := loading.SearchInput(u.hidden.Forms(), []string{"/models", "/workspace", "/tmp", "/seer", "/run", "~"})
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	p, err := s.ExecPython(ctx, loading.Search(), bytes.NewReader(input), &out, &said)
	if err != nil {
		return nil, err
	}
	var places []string
	if err := json.Unmarshal(out.Bytes(), &places); err != nil || p.ExitCode != 0 {
		return nil, fmt.Errorf("look for the names of hidden models: exit code %d: %s", p.ExitCode, strings.TrimSpace(said.String()))
	}
	return places, nil
}

// looked are the texts that a user of the prepared kernel can see.
func (u *up) looked(ctx context.Context, s *Sandbox) (map[string]string, error) {
	if u.exp.Sandbox.ExecutionMode != experiment.ModeNotebook || u.exp.Workspace.NoPreload {
		return map[string]string{}, nil
	}
	var variables []string
	for _, m := range u.exp.Sandbox.Models {
		variables = append(variables, m.VarName, m.TokenizerName())
	}
	client, err := s.Notebook(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	text, err := runHidden(ctx, client, loading.Look(variables))
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		return nil, fmt.Errorf("look at the prepared kernel: %w", err)
	}
	return seen, nil
}

// runHidden runs code in the first kernel and returns what it prints.
func runHidden(ctx context.Context, client *notebook.Client, code string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestLook, errors.New("looking for the names of hidden models took too long"))
	defer cancel()
	sessions, err := client.Sessions(ctx)
	if err != nil {
		return "", err
	}
	if len(sessions) == 0 {
		return "", errors.New("there is no kernel")
	}
	run, err := client.AddCell(ctx, sessions[0].ID, notebook.NewCell{Type: "code", Source: code, Run: true, Hidden: true})
	if err != nil {
		return "", err
	}
	if run.Execution == nil {
		return "", errors.New("the kernel did not run the code")
	}
	done, err := client.Wait(ctx, run.Execution.ID)
	if err != nil {
		return "", err
	}
	if done.Error != nil {
		return "", fmt.Errorf("%s: %s", done.Error.EName, done.Error.EValue)
	}
	text, _, err := client.Text(ctx, done.ID, 0, done.TextBytes)
	return string(text), err
}

// unhidden is what a machine may be told of a model: where the agent has the whole
// sandbox, of a hidden one no name and no commit.
func (u *up) unhidden(m protocol.Model) protocol.Model {
	if m.Hidden && u.exp.Sandbox.Whole() {
		m.Name, m.Revision = m.VarName, ""
	}
	return m
}
