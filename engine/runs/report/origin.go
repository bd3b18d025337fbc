package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

// shownOrigin is where the results of a run come from.
type shownOrigin struct {
	Facts     []fact
	Models    []event.RunModel
	Services  []fact // names and code hashes
	Plugins   []fact // IDs with versions and digests
	Artifacts []artifact
	Left      int // artifacts that are not shown
	Hidden    []string
	Documents []document
}

type artifact struct{ Path, Kind, SHA256, Bytes string }

type document struct {
	Name string
	text
}

const maxArtifacts = 1000

func (p *page) origin() shownOrigin {
	s := p.source
	o := shownOrigin{Facts: []fact{
		{"Run", s.ID}, {"Folder", s.Dir}, {"Experiment file", s.File}, {"Seer", s.Version}, {"SHA-256 of Seer", s.SHA256}, {"Sandbox", s.Sandbox},
		{"Agent program", s.Program}, {"Version of the program", s.ProgramVersion}, {"SHA-256 of the program", s.ProgramSHA256},
		{"Record of calls", s.origin.Calls}, {"Events", strconv.FormatInt(s.EventCount, 10)},
	}}
	if s.Lost > 0 {
		o.Facts = append(o.Facts, fact{"Events that are lost", strconv.FormatInt(s.Lost, 10)})
	}
	o.Facts = slices.DeleteFunc(o.Facts, func(f fact) bool { return f.Value == "" })
	for i := range o.Facts {
		o.Facts[i].Value = line(o.Facts[i].Value, 500)
	}
	o.Models, o.Services, o.Plugins, o.Documents = s.models(), s.services(), s.plugins(), p.packages()
	n := min(len(s.artifacts), maxArtifacts, p.limits.items)
	for _, a := range s.artifacts[:n] {
		o.Artifacts = append(o.Artifacts, artifact{line(a.Path, 300), line(a.Kind, 20), line(a.SHA256, 64), count(a.Bytes)})
	}
	o.Left = len(s.artifacts) - n
	for _, h := range s.origin.HiddenNames[:min(len(s.origin.HiddenNames), 100)] {
		o.Hidden = append(o.Hidden, line(h.Where, 200)+", "+strconv.Itoa(h.Times)+" times")
	}
	for _, name := range []string{runs.ExperimentName, runs.ResolvedName} {
		if data, err := s.run.ReadFile(name, maxDocument); err == nil {
			o.Documents = append(o.Documents, document{name, plain(string(data), p.limits.text, name)})
		}
	}
	return o
}

// models are those that the log names, and those that only calls name.
func (s *source) models() []event.RunModel {
	all := slices.Clone(s.made.Models)
	known := map[string]bool{}
	for _, m := range all {
		known[m.Revision] = true
	}
	for i := range s.calls {
		for _, m := range s.calls[i].Models {
			if !known[m.Revision] {
				known[m.Revision] = true
				all = append(all, event.RunModel{Name: m.Name, Revision: m.Revision, Source: "named by calls"})
			}
		}
		for _, m := range s.calls[i].Datasets {
			if !known[m.Revision] {
				known[m.Revision] = true
				all = append(all, event.RunModel{Name: m.Name, Revision: m.Revision, Dataset: true, Source: "named by calls"})
			}
		}
	}
	all = all[:min(len(all), 200)]
	for i := range all {
		m := &all[i]
		for _, field := range []*string{&m.Name, &m.Source, &m.Repo, &m.Revision, &m.License, &m.Gate, &m.Manifest} {
			*field = line(*field, 200)
		}
	}
	return all
}

// plugins are IDs with versions and digests.
func (s *source) plugins() (all []fact) {
	for _, x := range s.made.Plugins[:min(len(s.made.Plugins), 200)] {
		all = append(all, fact{line(x.ID, 200), line(x.Version+" sha256:"+x.SHA256, 200)})
	}
	return all
}

// packages are lists as pip freeze prints them, with digests.
func (p *page) packages() (all []document) {
	for _, list := range p.source.made.Packages[:min(len(p.source.made.Packages), 20)] {
		var lines strings.Builder
		for _, x := range list.Packages {
			lines.WriteString(x.Name + "==" + x.Version)
			if x.System {
				lines.WriteString(" (system)")
			}
			if x.SHA256 != "" {
				lines.WriteString(" sha256:" + x.SHA256)
			}
			lines.WriteByte('\n')
		}
		title := fmt.Sprintf("%d packages of %s, Python %s", len(list.Packages), list.Sandbox, list.Python)
		all = append(all, document{line(title, 200), plain(lines.String(), p.limits.text, runs.EventsName)})
	}
	return all
}

// services are names with the digests of their code: of the log and of calls.
func (s *source) services() []fact {
	var all []fact
	add := func(name, hash string) {
		f := fact{line(name, 80), line(hash, 80)}
		if hash != "" && len(all) < 200 && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	for _, x := range s.made.Services {
		add(x.Name, x.CodeHash)
	}
	for i := range s.calls {
		add(s.calls[i].Service, s.calls[i].CodeHash)
	}
	return all
}
