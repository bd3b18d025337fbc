package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/veil"
)

const (
	veiledDir = "veiled" // folder of the cache with veiled copies of models
	veilKind  = "2"      // changes when the same folder would be veiled otherwise
	veilNote  = ".key"   // ends the name of the file that says what a veiled copy was made of
)

// blinding is how the names of hidden models are kept from agents.
type blinding struct {
	unsearched bool                    // nothing is searched for names; only tests set it
	folder     func(key string) string // names the folder of a veiled copy, which sandboxes can see
}

// randomFolder tells nothing of what the folder is made of.
func randomFolder(string) string {
	name := make([]byte, 20)
	_, _ = rand.Read(name) // never fails
	return hex.EncodeToString(name)
}

// veil searches what the experiment tells the agent for the names of hidden models. Where
// the agent has the whole sandbox, it puts veiled copies in their place; what their
// architectures tell anyway, the user is told.
func (u *up) veil(ctx context.Context) error {
	u.hidden = hiddenNames(u.models)
	if !u.hides() {
		return nil
	}
	for _, name := range u.hidden.Common {
		u.report.Warn(StageModel, "the name %s of a hidden model has only common words: Seer does not look for them", name)
	}
	if err := u.searchTexts(ctx); err != nil || !u.exp.Sandbox.Whole() {
		return err
	}
	for _, name := range u.hidden.Told {
		u.report.Warn(StageModel, "the name %s of a hidden model is also that of its architecture, which has to stay: the agent can see it", name)
	}
	if words := u.hidden.Shown; len(words) > 0 {
		u.report.Info(StageModel, "the architecture of a hidden model tells %s, which has to stay: the agent can see it", strings.Join(words, ", "))
	}
	for i := range u.models {
		m := &u.models[i]
		if !m.Hidden {
			continue
		}
		dir, report, err := u.engine.veiled(ctx, m.Local, u.hidden)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		m.Local = dir
		if len(report.Dropped) > 0 {
			u.report.Info(StageModel, "%s: the agent does not see these values: %s", m.Name, someOf(report.Dropped))
		}
	}
	return nil
}

// hides reports whether a model's name is hidden from the agent.
func (u *up) hides() bool { return len(u.hidden.Spec().Names) > 0 }

// someOf lists the first of many words.
func someOf(words []string) string {
	const most = 12
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// hiddenNames are the names of the hidden models among some.
func hiddenNames(models []machine.Model) namesearch.Names {
	var spec namesearch.Spec
	for _, m := range models {
		if m.Hidden {
			spec.Names = append(spec.Names, m.Name)
			if base := filepath.Base(m.Local); m.Source == experiment.SourceFolder && strings.HasPrefix(m.Name, ".") {
				spec.Names = append(spec.Names, base) // of a folder named as . or ..
			}
			if m.Local != "" { // its files are here
				spec.Stay = append(spec.Stay, veil.Architecture(m.Local)...)
			}
		}
	}
	if spec.Names == nil {
		return namesearch.Names{}
	}
	return namesearch.Compile(spec)
}

// veiled is the veiled copy of a folder, which is made where it is not there yet. Its own
// name is random: the sandbox shows it in its list of mounts.
func (e *Engine) veiled(ctx context.Context, folder string, names namesearch.Names) (dir string, report veil.Report, err error) {
	key, err := veilKey(folder, names)
	if err != nil {
		return "", report, err
	}
	parent, err := e.store.Cache(veiledDir)
	if err != nil {
		return "", report, err
	}
	lock, err := state.Acquire(ctx, filepath.Join(parent, key+".making"))
	if err != nil {
		return "", report, err
	}
	defer lock.Remove()
	if dir, report, err := e.veiledBefore(ctx, parent, key); dir != "" || err != nil {
		return dir, report, err
	}
	dir = filepath.Join(parent, e.blinding.folder(key))
	making, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", report, err
	}
	defer making.Remove()
	if report, err = veil.Make(ctx, folder, dir+cachegc.PartialSuffix, names); err != nil {
		return "", report, err
	}
	note, err := json.Marshal(veiledNote{key, report})
	if err == nil {
		err = state.WriteFile(dir+veilNote, note, 0o600)
	}
	if err != nil {
		return "", report, errors.Join(err, os.RemoveAll(dir+cachegc.PartialSuffix))
	}
	return dir, report, os.Rename(dir+cachegc.PartialSuffix, dir)
}

// veiledNote says what a veiled copy was made of, and what was done.
type veiledNote struct {
	Key    string      `json:"key"`
	Report veil.Report `json:"report"`
}

// veiledBefore finds the copy of a key. Notes of copies that are gone go, too.
func (e *Engine) veiledBefore(ctx context.Context, parent, key string) (string, veil.Report, error) {
	notes, err := filepath.Glob(filepath.Join(parent, "*"+veilNote))
	if err != nil {
		return "", veil.Report{}, err
	}
	for _, path := range notes {
		var note veiledNote
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &note)
		}
		if err != nil || note.Key != key {
			continue // of another one, or removed just now
		}
		dir := strings.TrimSuffix(path, veilNote)
		if err := e.usedNow(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			return dir, note.Report, err
		}
		if err := os.Remove(path); err != nil {
			return "", veil.Report{}, err
		}
	}
	return "", veil.Report{}, nil
}

// usedNow marks a veiled copy as used now, so that nobody prunes it.
func (e *Engine) usedNow(ctx context.Context, dir string) error {
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer lock.Remove()
	now := e.now()
	return os.Chtimes(dir, now, now)
}

// veilKey names what a veiled copy is made of.
func veilKey(folder string, names namesearch.Names) (string, error) {
	key := sha256.New()
	fmt.Fprintf(key, "%s\n%q\n%q\n%s\n", veilKind, names.Spec().Names, names.Spec().Stay, folder)
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
