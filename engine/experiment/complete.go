package experiment

import (
	"path/filepath"
	"strings"
	"time"
)

// Complete fills in what was left out, makes relative paths absolute from dir,
// and checks everything, as [Load] does for a file. It is for experiments that
// are built in code. The error is [Errors].
func (e *Experiment) Complete(dir string) error {
	e.fill(dir)
	return e.check().orNil()
}

func (e *Experiment) fill(dir string) {
	setDefault(&e.Name, nameFromFolder(dir))
	setDefault(&e.Runs, "./runs")
	setDefault(&e.Workspace.Dir, "./workspace")
	e.Sandbox.fill(dir)
	for i := range e.Serve {
		s := &e.Serve[i]
		absolute(dir, &s.File)
		setDefault(&s.ExposeAs, "library")
		if s.File == "" {
			continue
		}
		setDefault(&s.Name, strings.TrimSuffix(filepath.Base(s.File), ".py"))
	}
	absolute(dir, &e.Outputs, &e.Runs, &e.Workspace.Dir)
	for _, list := range [][]string{e.Workspace.Libraries, e.Workspace.Skills, e.Workspace.SkillDirs, e.Workspace.Files, e.Workspace.Dirs} {
		for i := range list {
			absolute(dir, &list[i])
		}
	}
	if a := e.Agent; a != nil {
		setDefault(&a.Provider, "command")
		setDefault(&a.Isolation, "auto")
		setDefault(&a.Network, "none")
		absolute(dir, &a.PromptFile)
		for i := range a.Skills {
			absolute(dir, &a.Skills[i])
		}
	}
}

func (s *Sandbox) fill(dir string) {
	if s.GPUCount == 0 {
		s.GPUCount = 1
	}
	if s.Timeout == 0 {
		s.Timeout = time.Hour
	}
	setDefault(&s.Isolation, "auto")
	setDefault(&s.Network, "open")
	s.nameVariables()
	for i := range s.Models {
		m := &s.Models[i]
		m.Source, m.Path = sourceOf(m.Name)
		if m.Path != "" {
			absolute(dir, &m.Path)
		}
		_, m.BasePath = sourceOf(m.BaseModel)
		absolute(dir, &m.BasePath)
	}
	for i := range s.Datasets {
		d := &s.Datasets[i]
		d.Source, d.Path = sourceOf(d.Name)
		absolute(dir, &d.Path)
	}
	s.labelRevisions()
	for _, pairs := range [][]Pair{s.LocalFiles, s.LocalDirs} {
		for i := range pairs {
			absolute(dir, &pairs[i].Local)
		}
	}
}

func setDefault(word *string, value string) {
	if *word == "" {
		*word = value
	}
}

// absolute resolves paths from dir. A path that begins with ~ is left alone: the
// check refuses it, for only a shell knows what it means.
func absolute(dir string, paths ...*string) {
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) && !strings.HasPrefix(*p, "~") {
			*p = filepath.Join(dir, *p)
		}
	}
}

// nameFromFolder makes a name out of a folder's, whatever it is called.
func nameFromFolder(dir string) string {
	name := strings.Map(func(r rune) rune {
		if validNameRune(r) {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	name = strings.TrimLeft(name, "-._")
	if len(name) > maxName {
		name = name[:maxName]
	}
	if name == "" {
		return "experiment"
	}
	return name
}
