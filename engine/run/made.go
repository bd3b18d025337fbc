package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// origin notes in the log what a run is made of, and keeps it for run.json.
type origin struct {
	*runner
	runs.Provenance
	digest    string                    // of this program; empty = not known
	manifests map[string]manifestRecord // of models and datasets, by digest
}

// listTimeout bounds the questions to a sandbox that does not answer: the agent waits for them.
const listTimeout = time.Minute

func (o *origin) add(d event.Data) {
	if o.Add(d) {
		o.report.Send(d)
	}
}

// of notes the plugins, models and datasets of a sandbox.
func (o *origin) of(ctx context.Context, info engine.Info) error {
	o.plugin(ctx, sdk.KindProvider, info.Provider)
	add := func(m event.RunModel, p engine.Provenance) {
		o.plugin(ctx, sdk.KindFetcher, m.Source)
		if m.Manifest = p.Manifest; p.Manifest != "" && len(p.Files) > 0 {
			o.manifests[p.Manifest] = manifestRecord{1, m.Revision, p.Files}
		}
		m.Gate = p.Gate
		if m.Hidden { // nothing that leads to its name but the revision
			m.Name = ""
		} else {
			m.Repo, m.License = p.Repo, p.License
		}
		o.add(m)
	}
	for _, m := range info.Models {
		add(event.RunModel{Name: m.Name, Hidden: m.Hidden, Source: m.Source, Revision: m.Revision}, m.Provenance)
	}
	for _, d := range info.Datasets {
		add(event.RunModel{Name: d.Name, Dataset: true, Source: d.Source, Revision: d.Revision}, d.Provenance)
	}
	return o.writeManifests()
}

// manifestRecord lists the files of a revision. Its key is the SHA-256 of its JSON without spaces.
type manifestRecord struct {
	Version  int             `json:"format_version"` // 1
	Revision string          `json:"revision"`
	Files    []sdk.ModelFile `json:"files"`
}

// writeManifests writes the files of models and datasets beside the log: one can have thousands.
func (o *origin) writeManifests() error {
	if len(o.manifests) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(o.manifests, "", " ")
	if err == nil {
		err = o.results.write(runs.ModelsName, append(text, '\n'))
	}
	if err == nil {
		o.artifact(runs.ModelsName, "models")
	}
	return err
}

// plugin notes the plugin that serves a name, if one does.
func (o *origin) plugin(ctx context.Context, kind sdk.Kind, name string) {
	if p, ok := o.engine.Plugin(ctx, kind, name); ok {
		o.add(event.RunPlugin{ID: p.Manifest.ID, Version: p.Manifest.Version, SHA256: strings.TrimPrefix(p.Digest, "sha256:")})
	}
}

// packages finds what is installed in a sandbox, while something else goes on. The function
// that it returns waits for the answer and notes it, once.
func (o *origin) packages(ctx context.Context, s *engine.Sandbox) (note func()) {
	var list event.RunPackages
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		list, err = pkginstall.Installed(ctx, s.Runtime())
	}()
	return sync.OnceFunc(func() {
		<-done
		switch {
		case err == nil:
			list.Sandbox = s.ID()
			o.add(list)
		case ctx.Err() == nil:
			o.warn("the log of the run does not say what is installed in %s: %v", s.ID(), err)
		}
	})
}

// given notes of what sandboxes are made that the caller of [Agent] has.
func (o *origin) given(ctx context.Context, sandboxes []*engine.Sandbox) {
	for _, s := range sandboxes {
		note := o.packages(ctx, s)
		defer note()
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	for _, s := range sandboxes {
		info, err := s.Info(ctx)
		if err == nil {
			err = o.of(ctx, info)
		}
		for _, x := range info.Services {
			if v, failed := s.Service(ctx, x.Name); failed == nil {
				o.add(event.RunCode{Name: x.Name, CodeHash: v.Interface().CodeHash})
			} else if err == nil {
				err = failed
			}
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			o.warn("the log of the run does not say all that %s is made of: %v", s.ID(), err)
		}
	}
}

// programDigest is the SHA-256 of the running program, in hexadecimal digits. The digest of its file
// is there for every build, also for one from changed sources, and reading it takes milliseconds.
var programDigest = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe" // also of a program whose file was replaced since it was started
	}
	if err != nil {
		return "", err
	}
	return state.Digest(path)
})
