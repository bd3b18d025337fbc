package models

import (
	"context"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// Where a model is.
const (
	InHub = "hub" // the cache of the Hub's clients
	InOwn = "own" // the engine's own cache
)

// Model is a model on this computer.
type Model struct {
	Name       string       `json:"name"`   // as an experiment writes it; of a dataset datasets/org/name
	Source     string       `json:"source"` // hub or a scheme
	Where      string       `json:"where"`  // InHub or InOwn
	Dir        string       `json:"dir"`
	Bytes      int64        `json:"bytes"` // of all files, each content once
	Used       time.Time    `json:"used"`  // last, as far as the system notes that
	Revisions  []Revision   `json:"revisions"`
	Incomplete []Incomplete `json:"incomplete"`
}

// Revision is a revision of a model on this computer.
type Revision struct {
	Revision  string    `json:"revision"` // immutable: of the Hub, the commit
	Dir       string    `json:"dir"`
	Refs      []string  `json:"refs"` // branches and tags that led to it
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"` // of its files, each content once
	Used      time.Time `json:"used"`
	Broken    []string  `json:"broken"`    // files whose content is missing
	Sandboxes []string  `json:"sandboxes"` // live ones that use it
}

// Incomplete is what a download has left that was broken off, or that is at work.
type Incomplete struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // on the disk
	// Own says that this engine can continue it. The Hub's clients have left the others.
	Own bool `json:"own"`
}

// Manager manages the models on this computer. All fields but Report must be set.
type Manager struct {
	Getter
	Records    func() ([]machine.Record, error) // the sandboxes
	References func(ctx context.Context) (*cachegc.References, error)
	Manifests  Manifests
	Now        func() time.Time
}

// Parse reads the name of a model as an experiment writes it. A model of the Hub may end with
// @REVISION: a branch, a tag or a commit. A folder is refused: its files are on this computer.
func Parse(name string) (sdk.ModelRef, error) {
	plain, revision := name, ""
	if m, err := experiment.ParseModel(name); err != nil || m.Source == experiment.SourceHub {
		plain, revision, _ = strings.Cut(name, "@")
	}
	m, err := experiment.ParseModel(plain)
	if err != nil {
		return sdk.ModelRef{}, err
	}
	if m.Source == experiment.SourceFolder {
		return sdk.ModelRef{}, sdk.Errorf(sdk.Invalid, "%s is a folder of this computer: its files stay where they are, so there is nothing to fetch or to manage; name a model of the Hub, as in org/name", name)
	}
	if plain != name && revision == "" {
		return sdk.ModelRef{}, sdk.Errorf(sdk.Invalid, "%q has no revision after the @; write a branch, a tag or a commit there", name)
	}
	ref := m.Ref()
	ref.Revision = revision
	return ref, nil
}

// Name is how an experiment writes a model.
func Name(source, name string) string {
	if source == hubcache.Source {
		return name
	}
	return source + ":" + name
}

// Pull fetches a model to this computer, as a start of a sandbox does. It continues what
// earlier downloads have left, and what has arrived stays when ctx ends.
func (m *Manager) Pull(ctx context.Context, ref sdk.ModelRef) (fetch.Model, error) {
	name := Name(ref.Source, ref.Name)
	m.Report.Send(event.ModelResolving{Model: name})
	got, err := m.Get(ctx, name, ref)
	if err != nil {
		return got, err
	}
	if n := len(got.Omitted); n > 0 {
		m.Report.Send(event.ModelOmitted{Model: name, Files: n, Bytes: got.OmittedBytes()})
	}
	m.Report.Send(event.ModelReady{
		Model: name, Revision: got.Revision, Files: len(got.Files), Bytes: got.Bytes, License: got.License, Gate: got.Gate,
	})
	return got, nil
}

// cache is the cache of the Hub's clients, with the engine's own beside it.
func (m *Manager) cache() (hubcache.Cache, error) {
	own, err := m.Cache()
	if err != nil {
		return hubcache.Cache{}, err
	}
	dir, err := hubcache.Dir(m.Getenv)
	return hubcache.Cache{Dir: dir, Own: own}, err
}

// sandboxes are the live ones, by the revisions of the models that they use.
func (m *Manager) sandboxes() (map[string][]string, error) {
	records, err := m.Records()
	users := map[string][]string{}
	for _, r := range records {
		if !r.Live() {
			continue
		}
		for _, used := range r.Models {
			if used.Revision != "" {
				key := used.Source + " " + used.Revision
				users[key] = append(users[key], r.ID)
			}
		}
	}
	return users, err
}
