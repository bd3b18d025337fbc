package experiment

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// SourceHub and SourceFolder are the model sources that need no scheme.
const (
	SourceHub    = "hub"
	SourceFolder = "folder"
)

// sourceOf tells from a model's name where it comes from. folder is the path
// as written, for a folder on this computer.
func sourceOf(name string) (source, folder string) {
	scheme, rest, ok := strings.Cut(name, ":")
	switch {
	case isFolder(name):
		return SourceFolder, name
	case ok && validScheme(scheme) && scheme == SourceFolder:
		return SourceFolder, rest
	case ok && validScheme(scheme):
		return scheme, ""
	default:
		return SourceHub, ""
	}
}

func isFolder(name string) bool {
	return name == "." || name == ".." || filepath.IsAbs(name) ||
		strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "~")
}

func validScheme(word string) bool {
	for i, r := range word {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '+' || r == '.')) {
			return false
		}
	}
	return word != ""
}

// ParseModel reads a name as an entry of sandbox.models, and finds its source. A dataset of
// the Hub is datasets/org/name. Only Name, Source and, of a folder, Path as it is written are
// set. An invalid name is an [*Error] without a place.
func ParseModel(name string) (Model, error) {
	m := Model{Name: name}
	m.Source, m.Path = sourceOf(name)
	checked := m
	if rest, dataset := strings.CutPrefix(name, "datasets/"); dataset && m.Source == SourceHub {
		checked.Name = rest
	}
	if problem, hint := badName(checked, "model"); problem != "" {
		return m, &Error{Message: problem, Hint: hint}
	}
	return m, nil
}

// Ref is what a fetcher is asked for.
func (m Model) Ref() sdk.ModelRef {
	ref := sdk.ModelRef{Source: m.Source, Name: m.Name, Revision: m.Revision, Include: m.Include, Exclude: m.Exclude}
	if m.Source == SourceFolder {
		ref.Name = m.Path
	} else if rest, ok := strings.CutPrefix(m.Name, m.Source+":"); ok {
		ref.Name = rest
	}
	if m.Dataset && m.Source == SourceHub {
		ref.Name = hubDatasets + ref.Name
	}
	return ref
}

// short is the part of the name that names the model: no ./ and, of an absolute
// path, only the last element, so that paths of this computer stay here.
func (m Model) short() string {
	if m.Source != SourceFolder {
		return strings.TrimPrefix(m.Name, m.Source+":")
	}
	name := path.Clean(strings.TrimPrefix(m.Name, SourceFolder+":"))
	if path.IsAbs(name) || strings.HasPrefix(name, "..") || name == "." {
		name = filepath.Base(m.Path)
	}
	return name
}

// Alias is how code in the sandbox asks for the model: by its name, or by NAME@REVISION if
// another revision of it is listed, too.
func (m Model) Alias() string { return withLabel(m.Name, m.Label) }

func withLabel(name, label string) string {
	if label == "" {
		return name
	}
	return name + "@" + label
}

// shown is what a path or a variable may tell of the model: of a hidden one only its
// own variable.
func (m Model) shown() string {
	if m.Hidden {
		return m.VarName
	}
	return withLabel(m.short(), m.Label)
}

// labelRevisions gives a label to each model and dataset with a revision whose name is listed
// more than once.
func (s *Sandbox) labelRevisions() {
	models, datasets := map[string]int{}, map[string]int{}
	for _, m := range s.Models {
		models[m.Name]++
	}
	for i := range s.Models {
		if m := &s.Models[i]; models[m.Name] > 1 {
			m.Label = m.Revision
		}
	}
	for _, d := range s.Datasets {
		datasets[d.Name]++
	}
	for i := range s.Datasets {
		if d := &s.Datasets[i]; datasets[d.Name] > 1 {
			d.Label = d.Revision
		}
	}
}

// nameVariables gives every model without a variable one that no other has: model, model_2 …
func (s *Sandbox) nameVariables() {
	taken := map[string]bool{}
	for _, m := range s.Models {
		taken[m.VarName] = true
	}
	for i := range s.Models {
		if s.Models[i].VarName != "" {
			continue
		}
		name := "model"
		for n := 2; taken[name]; n++ {
			name = "model_" + strconv.Itoa(n)
		}
		s.Models[i].VarName, taken[name] = name, true
	}
}

// EnvName is the environment variable with the model's path in the sandbox:
// MODEL_GOOGLE_GEMMA_2_9B_PATH; of a hidden model MODEL_MODEL_PATH, after its var_name; of a
// dataset DATASET_ORG_NAME_PATH.
func (m Model) EnvName() string {
	prefix := "MODEL_"
	if m.Dataset {
		prefix = "DATASET_"
	}
	return prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, m.shown()) + "_PATH"
}

// SandboxPath is the model's folder in the sandbox: /models/google--gemma-2-9b, of a
// hidden one /models/model, of a dataset /datasets/org--name.
func (m Model) SandboxPath() string {
	dir := modelsDir
	if m.Dataset {
		dir = datasetsDir
	}
	safe := strings.Map(func(r rune) rune {
		if validNameRune(r) || r == '/' {
			return r
		}
		return '-'
	}, m.shown())
	return dir + "/" + strings.TrimLeft(strings.ReplaceAll(safe, "/", "--"), ".")
}

// model has what a dataset has in common with a model.
func (d Dataset) model() Model {
	return Model{Name: d.Name, Source: d.Source, Path: d.Path, Revision: d.Revision, Include: d.Include, Exclude: d.Exclude, Label: d.Label, Dataset: true}
}
