// Package effects finds what an experiment does beyond its own folder and its confinement,
// and has the user confirm it before it happens.
package effects

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/build/pipconfig"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
)

// Plugins is what the effects depend on of the providers.
type Plugins interface {
	Native(provider string) bool // the program itself brings it
	Paying(ctx context.Context, provider string) trust.Account
	Reading(ctx context.Context, source string) (credentials []string) // of the user, for models
}

// Finder finds the effects of experiments. All fields must be set.
type Finder struct {
	Getenv      func(string) string
	Plugins     Plugins
	PipSettings func(*preflight.Env, *experiment.Experiment) (pipconfig.Settings, error)
	NeedsLogin  func(ctx context.Context, ref string) (host string, err error) // whose login an image needs; empty = none
	Agents      func(*experiment.Experiment) (agent.Sources, error)
}

// Facts are what an experiment will do, as planned. withAgent adds its agent.
func (f Finder) Facts(ctx context.Context, exp *experiment.Experiment, p plan.Plan, env *preflight.Env, withAgent bool) (trust.Facts, error) {
	facts := f.Subject(exp)
	s := exp.Sandbox
	f.models(ctx, &facts, s)
	for _, pair := range slices.Concat(s.LocalFiles, s.LocalDirs) {
		facts.Read = append(facts.Read, realPaths(pair.Local)...)
	}
	for _, serve := range exp.Serve {
		facts.Read = append(facts.Read, realPaths(serve.File)...)
	}
	for _, r := range s.Repos {
		if folder, ok := strings.CutPrefix(r.URL, "file://"); ok {
			facts.Read = append(facts.Read, realPaths(folder)...)
		}
	}
	facts.Read = append(facts.Read, workspaceFiles(exp)...)
	facts.Ports, facts.HostPorts = s.Ports, p.HostPorts
	for _, v := range s.Volumes {
		facts.Volumes = append(facts.Volumes, v.Name)
	}
	f.secrets(&facts, exp, p, env)
	if err := f.installerSecrets(&facts, exp, p, env); err != nil {
		return facts, err
	}
	for _, name := range pipconfig.Variables() {
		if value, from, ok := env.Lookup(name); ok && from == preflight.DotEnv {
			digest, err := trust.Digest(ctx, [][]byte{[]byte(value)}, nil)
			if err != nil {
				return facts, err
			}
			facts.Settings = append(facts.Settings, trust.Setting{Name: name, From: filepath.Join(filepath.Dir(exp.File), preflight.DotEnv), Digest: digest})
		}
	}
	var err error
	if facts.Images, err = f.images(ctx, p); err != nil {
		return facts, err
	}
	facts.Systems = systems(p)
	if facts.Accounts, err = f.accounts(ctx, exp, p); err != nil {
		return facts, err
	}
	if err := f.sandboxProgram(ctx, &facts, exp, p); err != nil || !withAgent || exp.Agent == nil {
		return facts, err
	}
	facts.Written = append(facts.Written, realPaths(exp.Outputs, exp.Runs, exp.Workspace.Dir)...)
	return facts, f.agentProgram(ctx, &facts, exp, p.Agent.Isolation)
}

// models lists the folders that models and datasets are read from, and those that are fetched
// with a credential.
func (f Finder) models(ctx context.Context, facts *trust.Facts, s experiment.Sandbox) {
	for _, m := range s.Fetched() {
		facts.Read = append(facts.Read, realPaths(m.Path)...)
		if m.Source == experiment.SourceFolder {
			continue
		}
		kind := "model"
		if m.Dataset {
			kind = "dataset"
		}
		for _, credential := range f.Plugins.Reading(ctx, m.Source) {
			facts.Models = append(facts.Models, trust.Model{Kind: kind, Name: m.Name, Credential: credential})
		}
	}
}

// Subject has only what the user confirms, and where that is.
func (f Finder) Subject(exp *experiment.Experiment) trust.Facts {
	return trust.Facts{Subject: exp.File, Folder: trust.Real(filepath.Dir(exp.File)), Home: trust.Real(f.Getenv("HOME"))}
}

// realPaths resolves the paths that are not empty.
func realPaths(paths ...string) []string {
	var out []string
	for _, path := range paths {
		if path != "" {
			out = append(out, trust.Real(path))
		}
	}
	return out
}

// workspaceFiles are the files that an experiment copies into a workspace, and the one that
// its prompt is read from.
func workspaceFiles(exp *experiment.Experiment) []string {
	w := exp.Workspace
	paths := realPaths(slices.Concat(w.Libraries, exp.Skills(), w.SkillDirs, w.Files, w.Dirs)...)
	for _, dir := range w.SkillDirs { // whose entries may be links
		skills, err := filepath.Glob(filepath.Join(escaped(dir), "*"))
		if err == nil {
			paths = append(paths, realPaths(skills...)...)
		}
	}
	if exp.Agent != nil {
		paths = append(paths, realPaths(exp.Agent.PromptFile)...)
	}
	return paths
}

// escaped is a path that matches only itself in [filepath.Glob].
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// secrets lists the values of the user's that the sandbox gets, and those that only open
// repositories.
func (f Finder) secrets(facts *trust.Facts, exp *experiment.Experiment, p plan.Plan, env *preflight.Env) {
	for _, name := range exp.Sandbox.Secrets {
		_, from, _ := env.Lookup(name)
		if !p.Withheld(name) {
			facts.Secrets = append(facts.Secrets, trust.Secret{Name: name, From: from, To: "the sandbox"})
		}
	}
	for _, r := range p.Repos {
		if _, from, ok := env.Lookup(r.Token); ok && r.Token != "" {
			facts.Secrets = append(facts.Secrets, trust.Secret{Name: r.Token, From: from, To: r.URL})
		}
	}
}

// installerSecrets lists the user's settings of pip with passwords. They go to machines of
// this computer that build, where code of packages and repositories can read them.
func (f Finder) installerSecrets(facts *trust.Facts, exp *experiment.Experiment, p plan.Plan, env *preflight.Env) error {
	s := exp.Sandbox
	foreign := len(s.PythonPackages)-s.Implied+len(s.Repos) > 0 || s.Image != nil && len(s.Image.Commands) > 0
	if !foreign || !slices.ContainsFunc(p.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	set, err := f.PipSettings(env, exp)
	for _, name := range set.Secret {
		facts.Secrets = append(facts.Secrets, trust.Secret{Name: name, From: "the settings of pip", To: "what installs packages"})
	}
	return err
}

// images are those that registries do not show to everybody.
func (f Finder) images(ctx context.Context, p plan.Plan) ([]trust.Image, error) {
	var found []trust.Image
	for _, ref := range p.BaseImages() {
		host, err := f.NeedsLogin(ctx, ref)
		if err != nil {
			return nil, errdefs.Wrap(errdefs.KindInternal, err)
		}
		if host != "" {
			found = append(found, trust.Image{Ref: ref, Host: host})
		}
	}
	return found, nil
}

// systems are the images by path, which are on machines.
func systems(p plan.Plan) (found []trust.System) {
	for _, c := range p.Choices {
		from, _ := p.ImageOf(c)
		if from == nil || !path.IsAbs(from.Base) {
			continue
		}
		if s := (trust.System{Path: from.Base, Provider: c.Provider}); !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// accounts lists who pays for the machines that may be rented. Providers that the program
// itself brings are its own business.
func (f Finder) accounts(ctx context.Context, exp *experiment.Experiment, p plan.Plan) ([]trust.Account, error) {
	var all []trust.Account
	for _, c := range p.Choices {
		at := slices.IndexFunc(all, func(a trust.Account) bool { return a.Provider == c.Provider })
		if at >= 0 && c.Own && !slices.Contains(all[at].Machines, c.Region) {
			all[at].Machines = append(all[at].Machines, c.Region)
		}
		if at >= 0 || f.Plugins.Native(c.Provider) {
			continue
		}
		a := f.Plugins.Paying(ctx, c.Provider)
		if a.Project != "" && a.Project != filepath.Join(filepath.Dir(exp.File), preflight.DotEnv) {
			return nil, &errdefs.Error{Kind: errdefs.KindUntrusted, Err: fmt.Errorf("the credentials of %s are those of another experiment, %s: it would pay, and receive models and files; set your own in the environment or in the profile", c.Provider, a.Project)}
		}
		if c.Own {
			a.Machines = []string{cmp.Or(c.Region, "machines of your own")}
		}
		a.Limits = "no budget"
		if p.Budget > 0 {
			a.Limits = "budget " + preflight.USD(p.Budget)
		}
		all = append(all, a)
	}
	return all, nil
}
