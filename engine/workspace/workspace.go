// Package workspace reads what a workspace is made of (libraries, skills, files) and says
// where each piece goes in which kind of session, and what the prompt tells of it. It
// reads and checks everything, and writes nothing.
package workspace

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is how the agent uses the sandbox: the execution_mode of the experiment.
type Kind string

// The kinds of session.
const (
	Scoped   Kind = ""
	Local    Kind = "local"
	Notebook Kind = "notebook"
	CLI      Kind = "cli"
)

// Folder is the working folder of a sandbox.
const Folder = "/workspace"

// Sources are what an experiment lists, as paths on this computer.
type Sources struct {
	Libraries []string // Python files, package folders, skill folders with code
	Skills    []string // skill folders, or a SKILL.md
	SkillDirs []string // folders of skill folders
	Files     []string // files and folders
	Dirs      []string // folders

	Init               string // Python
	PreloadModels      bool
	HiddenModelLoading bool
}

// Workspace is everything that an agent finds, read and checked. Contents of files are
// read only when they are opened.
type Workspace struct {
	Libraries []Library
	Skills    []Skill
	Files     []File // paths below the workspace

	Init               string // Python that runs before the agent starts
	PreloadModels      bool
	HiddenModelLoading bool
}

// Load reads all sources. The error has every mistake, one a line.
func Load(s Sources) (Workspace, error) {
	w := Workspace{Init: s.Init, PreloadModels: s.PreloadModels, HiddenModelLoading: s.HiddenModelLoading}
	var mistakes []error
	note := func(list string, err error) {
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("workspace.%s: %w", list, err))
		}
	}
	for _, p := range s.Libraries {
		l, err := LoadLibrary(p)
		note("libraries", err)
		if err == nil {
			w.Libraries = append(w.Libraries, l)
		}
	}
	for _, p := range s.Skills {
		k, err := LoadSkill(p)
		note("skills", err)
		if err == nil {
			w.Skills = append(w.Skills, k)
		}
	}
	for _, p := range s.SkillDirs {
		found, err := LoadSkills(p)
		note("skill_dirs", err)
		w.Skills = append(w.Skills, found...)
	}
	for _, p := range s.Files {
		files, err := loadTree(p, filepath.Base(p), either)
		note("files", err)
		w.Files = append(w.Files, files...)
	}
	for _, p := range s.Dirs {
		files, err := loadTree(p, filepath.Base(p), onlyFolder)
		note("dirs", err)
		w.Files = append(w.Files, files...)
	}
	if err := errors.Join(mistakes...); err != nil {
		return w, err
	}
	return w, w.Check()
}

// Check reports what does not go together: two libraries or skills of one name, files in
// each other's place. It is for workspaces that were put together after loading, too, as
// with the libraries of served interfaces.
func (w Workspace) Check() error {
	var mistakes []error
	once := func(what string, names []string) {
		slices.Sort(names)
		for i := 1; i < len(names); i++ {
			if names[i] == names[i-1] && (i == 1 || names[i-2] != names[i]) {
				mistakes = append(mistakes, fmt.Errorf("two %s have the name %s; rename one of them", what, names[i]))
			}
		}
	}
	var libraries, skills []string
	for _, l := range w.Libraries {
		libraries = append(libraries, l.Name)
	}
	for _, k := range w.Skills {
		skills = append(skills, k.Name)
	}
	once("libraries", libraries)
	once("skills", skills)
	if len(mistakes) == 0 {
		mistakes = append(mistakes, clashes(w.shared()))
	}
	return errors.Join(mistakes...)
}

// shared is what lies side by side in a workspace.
func (w Workspace) shared() []File {
	var all []File
	for _, l := range w.Libraries {
		all = append(all, l.Files...)
	}
	return append(all, w.Files...)
}

// clashes reports two files in one place, a file where a folder has to be, and two
// modules of one name.
func clashes(files []File) error {
	var mistakes []error
	taken, modules := map[string]bool{}, map[string]string{}
	for _, f := range files {
		if taken[f.Path] {
			mistakes = append(mistakes, fmt.Errorf("two files go to %s; rename one of them", f.Path))
		}
		taken[f.Path] = true
		top, below, deep := strings.Cut(f.Path, "/")
		module, python := strings.CutSuffix(top, ".py")
		switch {
		case deep && below != "__init__.py", !deep && !python:
			continue
		}
		if other := modules[module]; other != "" && other != top {
			mistakes = append(mistakes, fmt.Errorf("%s and %s are imported by the same name; rename one of them", other, top))
		}
		modules[module] = top
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if taken[dir] {
				mistakes = append(mistakes, fmt.Errorf("%s is a file, and %s needs it as a folder; rename one of them", dir, f.Path))
			}
		}
	}
	return errors.Join(mistakes...)
}

// Plan is which file goes where.
type Plan struct {
	Sandbox []File // with absolute paths in the sandbox, below /workspace
	Agent   []File // with paths below the folder of the agent's program
}

// Plan says what goes where in a session of this kind. Libraries are in the sandbox in
// each, where kernels, interpreters, commands and served interfaces import them. What the
// agent's own program imports and opens is in its folder: everything, where it does not
// work in the sandbox; its files, where it does. Skills are always there, twice: where
// Claude Code and where other programs discover them.
func (w Workspace) Plan(kind Kind) Plan {
	var p Plan
	whole := kind == Notebook || kind == CLI
	for _, l := range w.Libraries {
		p.Sandbox = append(p.Sandbox, below(Folder, l.Files)...)
		if !whole {
			p.Agent = append(p.Agent, l.Files...)
		}
	}
	p.Agent = append(p.Agent, w.Files...)
	if whole {
		p.Sandbox = append(p.Sandbox, below(Folder, w.Files)...)
	}
	for _, dir := range SkillFolders() {
		for _, k := range w.Skills {
			p.Agent = append(p.Agent, below(dir+"/"+k.Name, k.Files)...)
		}
	}
	return p
}

// SkillFolders are where agents' programs look for skills: the first Claude Code and
// opencode, the second Codex, Gemini CLI and opencode.
func SkillFolders() []string { return []string{".claude/skills", ".agents/skills"} }

func below(dir string, files []File) []File {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].Path = path.Join(dir, moved[i].Path)
	}
	return moved
}
