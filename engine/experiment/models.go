package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Folders of the sandbox that have what is fetched for it, each in a folder of its own.
const (
	modelsDir   = "/models"
	datasetsDir = "/datasets"
)

// hubDatasets begins the Hub's names of datasets.
const hubDatasets = "datasets/"

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// places notes which variable and which folder of the sandbox belongs to what.
type places struct {
	*validator
	what          string // model or dataset
	envs, folders map[string]string
}

// take reports at a field that another name has the variable or the folder already.
func (p places) take(at, name, env, folder string) {
	if other, taken := p.envs[env]; taken {
		p.fail(at, fmt.Sprintf("%s and %s would both be %s", quote(other), quote(name), env), "rename one of them, or list it once")
	} else if other, taken := p.folders[folder]; taken {
		p.fail(at, fmt.Sprintf("%s and %s would both be %s", quote(other), quote(name), folder), "rename one of them, or list it once")
	}
	p.envs[env], p.folders[folder] = name, name
	if _, clash := p.exp.Sandbox.Env[env]; clash {
		p.fail("sandbox.env."+env, "the variable is set by the "+p.what+" "+quote(name), "choose another name")
	}
	if i := slices.Index(p.exp.Sandbox.Secrets, env); i >= 0 {
		p.fail(fmt.Sprintf("sandbox.secrets.%d", i), "the variable is set by the "+p.what+" "+quote(name), "choose another name")
	}
}

func (v *validator) models() {
	p := places{v, "model", map[string]string{}, map[string]string{}}
	s := v.exp.Sandbox
	for i, m := range s.Models {
		at := fmt.Sprintf("sandbox.models.%d", i)
		if problem, hint := badName(m, "model"); problem != "" {
			v.fail(at+".name", problem, hint)
			continue
		}
		v.model(at, m)
		p.take(at+".name", m.Alias(), m.EnvName(), m.SandboxPath())
	}
	for i, m := range s.Weights() {
		if i < len(s.Models) || m.Name == "" {
			continue
		}
		at := v.exp.baseField(m.Name)
		if problem, hint := badName(m, "model"); problem != "" {
			v.fail(at, problem, hint)
			continue
		}
		p.take(at, m.Name, m.EnvName(), m.SandboxPath())
	}
}

// baseField is where an adapter names a base model that is not listed itself.
func (e *Experiment) baseField(name string) string {
	for i, m := range e.Sandbox.Models {
		if m.BaseModel == name {
			return fmt.Sprintf("sandbox.models.%d.base_model", i)
		}
	}
	return "sandbox.models"
}

// model checks the fields of one whose name is right.
func (v *validator) model(at string, m Model) {
	if m.IsPEFT && m.BaseModel == "" {
		v.fail(at, "is_peft needs base_model", "name the model that the adapter was trained on")
	}
	if !m.IsPEFT && m.BaseModel != "" {
		v.fail(at+".base_model", "base_model is for adapters only", "set is_peft: true or remove it")
	}
	v.source(at, m)
	switch {
	case !identifier(m.VarName):
		v.fail(at+".var_name", quote(m.VarName)+" is not a Python identifier", "use letters, digits and `_`")
	case pythonKeyword(m.VarName):
		v.fail(at+".var_name", quote(m.VarName)+" is a Python keyword", "choose another name")
	}
}

// source checks what of a source is fetched.
func (v *validator) source(at string, m Model) {
	if m.Source == SourceFolder && m.Revision != "" {
		v.fail(at+".revision", "a folder has no revisions", "remove it")
	}
	for key, patterns := range map[string][]string{"include": m.Include, "exclude": m.Exclude} {
		if m.Source == SourceFolder && len(patterns) > 0 {
			v.fail(at+"."+key, "a folder is used as it is", "remove it, or name a folder that has only these files")
			continue
		}
		for i, p := range patterns {
			here := fmt.Sprintf("%s.%s.%d", at, key, i)
			switch {
			case p == "": // of an experiment that was built in code
				v.fail(here, "the pattern is empty", "write a pattern of paths, such as `*.safetensors` or `folder/`")
			case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "./") || slices.Contains(strings.Split(p, "/"), ".."):
				v.fail(here, quote(p)+" matches no file", "write it from the top of the repository, without / or . before it")
			case strings.ContainsFunc(p, isControl):
				v.fail(here, "the pattern holds a control character", "write ? in its place")
			}
		}
	}
}

func (v *validator) datasets() {
	p := places{v, "dataset", map[string]string{}, map[string]string{}}
	for i, d := range v.exp.Sandbox.Datasets {
		at, m := fmt.Sprintf("sandbox.datasets.%d", i), d.model()
		if problem, hint := badName(m, "dataset"); problem != "" {
			v.fail(at+".name", problem, hint)
			continue
		}
		v.source(at, m)
		p.take(at+".name", m.Alias(), m.EnvName(), m.SandboxPath())
	}
}

// badName says what is wrong with the name of a model or dataset; empty when nothing is.
func badName(m Model, what string) (problem, hint string) {
	ref := strings.TrimPrefix(m.Ref().Name, hubDatasets)
	switch {
	case m.Name == "":
		return "the name is empty", "write org/name, ./folder or scheme:name"
	case strings.HasPrefix(m.Name, "~"):
		return "`~` is not expanded", "write ./folder or the whole path"
	case m.Dataset && strings.HasPrefix(strings.TrimPrefix(m.Name, m.Source+":"), hubDatasets):
		return quote(m.Name) + " is not a " + what, "leave out `" + hubDatasets + "`"
	case m.Source == SourceHub && !validHubName(ref):
		return quote(m.Name) + " is not a " + what, "write org/name for the Hub, ./folder for a folder or scheme:name for a plugin"
	case ref == "" || strings.ContainsFunc(ref, isControl):
		return quote(m.Name) + " names no " + what, "write org/name, ./folder or scheme:name"
	case m.Source == SourceFolder && filepath.Base(m.Path) == "/":
		return "the whole file system is not a " + what, "name the " + what + "'s folder"
	}
	return "", ""
}

func validHubName(name string) bool {
	parts := strings.Split(name, "/")
	for _, p := range parts {
		if p == "" || p[0] == '.' || p[0] == '-' || strings.ContainsFunc(p, func(r rune) bool { return !validNameRune(r) }) {
			return false
		}
	}
	return len(parts) <= 2
}
