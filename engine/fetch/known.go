package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// answers remember what models were resolved to, so that nobody is asked again for the files
// of an immutable revision. They are files of a folder in the cache.
type answers string

func (o Options) answers() answers { return answers(filepath.Join(o.CacheDir, ".resolved")) }

// answer is what a fetcher has said to a question.
type answer struct {
	Revision string             `json:"revision"`        // that it has resolved to
	Model    *sdk.ResolvedModel `json:"model,omitempty"` // nil = it is in the answer for Revision
	Probe    sdk.Probe          `json:"probe,omitzero"`
	Base     string             `json:"base,omitempty"` // counts as long as Probe does
}

// path is where the answer to a question is.
func (a answers) path(ref sdk.ModelRef) (string, error) {
	name := url.PathEscape(ref.Name)
	if ref.Source == "" || ref.Name == "" || len(name) > 200 {
		return "", errNoName
	}
	question, err := json.Marshal([]any{ref.Revision, ref.Include, ref.Exclude})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(question)
	return filepath.Join(string(a), url.PathEscape(ref.Source), name, hex.EncodeToString(sum[:16])+".json"), nil
}

var errNoName = errors.New("the name of the model cannot be that of a folder")

// find is the last answer to a question. What cannot be read is not there.
func (a answers) find(ref sdk.ModelRef) (sdk.ResolvedModel, bool) {
	var last answer
	for range 2 { // for a branch, and then for its revision
		var found answer
		path, err := a.path(ref)
		if err != nil {
			return sdk.ResolvedModel{}, false
		}
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &found) != nil {
			return sdk.ResolvedModel{}, false
		}
		if found.Model != nil {
			found.Model.Probe, found.Model.Base = last.Probe, last.Base
			return *found.Model, found.Model.Revision == found.Revision
		}
		ref.Revision, last = found.Revision, found
	}
	return sdk.ResolvedModel{}, false
}

// keep remembers an answer, and how to find whether it still counts.
func (a answers) keep(ref sdk.ModelRef, s source) error {
	pinned, m := ref, s.resolved()
	pinned.Revision = m.Revision
	if err := a.write(pinned, answer{Revision: m.Revision, Model: &m}); err != nil || ref.Revision == m.Revision {
		return err
	}
	to := answer{Revision: m.Revision, Probe: s.probe}
	if to.Probe.URL != "" {
		to.Base = s.base
	}
	return a.write(ref, to)
}

func (a answers) write(ref sdk.ModelRef, to answer) error {
	path, err := a.path(ref)
	if errors.Is(err, errNoName) {
		return nil // it is asked for each time
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(to)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path); err == nil && slices.Equal(have, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return state.NoSpace(path, err)
	}
	return state.WriteFile(path, text, 0o600)
}

// SweepAnswers forgets what models were resolved to so long ago. It costs a question when such
// a model is wanted again.
func SweepAnswers(cacheDir string, before time.Time) error {
	return state.Walk(string(Options{CacheDir: cacheDir}.answers()), func(path string, d fs.DirEntry) error {
		if d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err != nil || !info.ModTime().Before(before) {
			return nil // or somebody else has removed it
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// pin is resolve, but for a model whose files are all on this computer: of that, an immutable
// revision needs no question, and any other one only the question to what it leads now. Where
// that cannot be asked, the last answer counts. It reports whether the answer is a new one.
func (o Options) pin(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (s source, fresh bool, err error) {
	before, have := o.complete(fetcher, ref)
	switch {
	case have && (o.Offline != "" || ref.Revision == before.model.Revision):
		return before, false, nil
	case o.Offline != "":
		return source{}, false, sdk.Errorf(sdk.Unavailable, "model %s is not on this computer as a whole, and nobody is asked for it: %s", ref.Name, o.Offline)
	}
	if !have {
		s, err = again(ctx, func() (source, error) { return resolve(ctx, fetcher, ref) })
		return s, err == nil, err
	}
	s, fresh, err = before.renewed(ctx, ref)
	if cannotBeAsked(ctx, err) {
		if o.Unreachable != nil {
			o.Unreachable(before.model.Revision, err)
		}
		return before, false, nil
	}
	return s, fresh, err
}

// renewed is what a model leads to now. If that is what it led to before, nobody lists its
// files. It reports whether the answer is a new one.
func (s source) renewed(ctx context.Context, ref sdk.ModelRef) (now source, fresh bool, err error) {
	if same, err := s.unchanged(ctx); same || cannotBeAsked(ctx, err) {
		return s, false, err
	}
	ref.Have = s.model.Revision
	now, err = resolve(ctx, s.fetcher, ref)
	if errors.Is(err, errUnchanged) {
		s.model.License, s.model.Gate, s.probe, s.base = now.model.License, now.model.Gate, now.probe, now.base
		return s, true, nil
	}
	return now, err == nil, err
}

// unchanged asks the source itself whether the last answer still counts: to load a fetcher
// takes longer than all else about a model that is here. The fetcher judges any other answer.
func (s source) unchanged(ctx context.Context) (bool, error) {
	if s.probe.URL == "" {
		return false, nil
	}
	status, body, err := Get(ctx, s.fetcher, s.probe.URL)
	sum := sha256.Sum256(body)
	return err == nil && status == http.StatusOK && hex.EncodeToString(sum[:]) == s.probe.SHA256, err
}

// known is a model by the last answer.
func (o Options) known(fetcher sdk.Fetcher, ref sdk.ModelRef) (source, bool) {
	if o.CacheDir == "" {
		return source{}, false
	}
	known, ok := o.answers().find(ref)
	if !ok {
		return source{}, false
	}
	s, err := usable(fetcher, ref, known)
	return s, err == nil
}

// complete finds a model whose files are all on this computer, by the last answer. Whether
// they are right is found later.
func (o Options) complete(fetcher sdk.Fetcher, ref sdk.ModelRef) (source, bool) {
	s, ok := o.known(fetcher, ref)
	if ok {
		_, ok = downloaded(s, o)
	}
	return s, ok
}

// cannotBeAsked reports whether a source gave no answer.
func cannotBeAsked(ctx context.Context, err error) bool {
	code := sdk.CodeOf(err)
	return err != nil && ctx.Err() == nil && (code == sdk.Unavailable || code == sdk.RateLimited)
}
