package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/build/pipconfig"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
)

// effects are what an experiment will do, as planned. withAgent adds its agent.
func (e *Engine) effects(ctx context.Context, exp *experiment.Experiment, p plan.Plan, env *preflight.Env, withAgent bool) (trust.Facts, error) {
	f := e.subject(exp)
	s := exp.Sandbox
	for _, m := range s.Models {
		f.Read = append(f.Read, real(m.Path, m.BasePath)...)
	}
	for _, pair := range slices.Concat(s.LocalFiles, s.LocalDirs) {
		f.Read = append(f.Read, real(pair.Local)...)
	}
	for _, serve := range exp.Serve {
		f.Read = append(f.Read, real(serve.File)...)
	}
	for _, r := range s.Repos {
		if folder, ok := strings.CutPrefix(r.URL, "file://"); ok {
			f.Read = append(f.Read, real(folder)...)
		}
	}
	f.Read = append(f.Read, workspaceFiles(exp)...)
	f.Ports, f.HostPorts = s.Ports, p.HostPorts
	for _, v := range s.Volumes {
		f.Volumes = append(f.Volumes, v.Name)
	}
	e.secrets(&f, exp, p, env)
	if err := e.installerSecrets(&f, exp, p, env); err != nil {
		return f, err
	}
	for _, name := range pipconfig.Variables() {
		if value, from, ok := env.Lookup(name); ok && from == preflight.DotEnv {
			digest, err := trust.Digest(ctx, [][]byte{[]byte(value)}, nil)
			if err != nil {
				return f, err
			}
			f.Settings = append(f.Settings, trust.Setting{Name: name, From: filepath.Join(filepath.Dir(exp.File), preflight.DotEnv), Digest: digest})
		}
	}
	var err error
	if f.Images, err = e.imagesByLogin(ctx, p); err != nil {
		return f, err
	}
	if f.Accounts, err = e.accounts(ctx, exp, p); err != nil {
		return f, err
	}
	if err := e.sandboxProgram(ctx, &f, exp, p); err != nil || !withAgent || exp.Agent == nil {
		return f, err
	}
	f.Written = append(f.Written, real(exp.Outputs, exp.Workspace.Dir)...)
	return f, e.agentProgram(ctx, &f, exp, p.Agent.Isolation)
}

func (e *Engine) subject(exp *experiment.Experiment) trust.Facts {
	return trust.Facts{Subject: exp.File, Folder: trust.Real(filepath.Dir(exp.File)), Home: trust.Real(e.getenv("HOME"))}
}

// real resolves the paths that are not empty.
func real(paths ...string) []string {
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
	paths := real(slices.Concat(w.Libraries, w.Skills, w.SkillDirs, w.Files, w.Dirs)...)
	for _, dir := range w.SkillDirs { // whose entries may be links
		skills, err := filepath.Glob(filepath.Join(escaped(dir), "*"))
		if err == nil {
			paths = append(paths, real(skills...)...)
		}
	}
	if exp.Agent != nil {
		paths = append(paths, real(exp.Agent.PromptFile)...)
	}
	return paths
}

// escaped is a path that matches only itself in [filepath.Glob].
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// secrets lists the values of the user's that the sandbox gets, and those that only open
// repositories.
func (e *Engine) secrets(f *trust.Facts, exp *experiment.Experiment, p plan.Plan, env *preflight.Env) {
	for _, name := range exp.Sandbox.Secrets {
		_, from, _ := env.Lookup(name)
		if !p.Withheld(name) {
			f.Secrets = append(f.Secrets, trust.Secret{Name: name, From: from, To: "the sandbox"})
		}
	}
	for _, r := range p.Repos {
		if _, from, ok := env.Lookup(r.Token); ok && r.Token != "" {
			f.Secrets = append(f.Secrets, trust.Secret{Name: r.Token, From: from, To: r.URL})
		}
	}
}

// installerSecrets lists the user's settings of pip with passwords. They go to machines of
// this computer that build, where code of packages and repositories can read them.
func (e *Engine) installerSecrets(f *trust.Facts, exp *experiment.Experiment, p plan.Plan, env *preflight.Env) error {
	s := exp.Sandbox
	foreign := len(s.PythonPackages)-s.Implied+len(s.Repos) > 0 || s.Image != nil && len(s.Image.Commands) > 0
	if !foreign || !slices.ContainsFunc(p.Choices, func(c plan.Choice) bool { return c.HostMounts }) {
		return nil
	}
	set, err := e.builder.Settings(env, exp)
	for _, name := range set.Secret {
		f.Secrets = append(f.Secrets, trust.Secret{Name: name, From: "the settings of pip", To: "what installs packages"})
	}
	return err
}

// accounts lists who pays for the machines that may be rented. Providers that the program
// itself brings are its own business.
func (e *Engine) accounts(ctx context.Context, exp *experiment.Experiment, p plan.Plan) ([]trust.Account, error) {
	var all []trust.Account
	for _, c := range p.Choices {
		known := slices.ContainsFunc(all, func(a trust.Account) bool { return a.Provider == c.Provider })
		if known || e.plugins.Native(c.Provider) {
			continue
		}
		a := e.plugins.Paying(ctx, c.Provider)
		if a.Project != "" && a.Project != filepath.Join(filepath.Dir(exp.File), preflight.DotEnv) {
			return nil, &Error{Kind: KindUntrusted, Err: fmt.Errorf("the credentials of %s are those of another experiment, %s: it would pay, and receive models and files; set your own in the environment or in the profile", c.Provider, a.Project)}
		}
		a.Limits = "no budget"
		if p.Budget > 0 {
			a.Limits = "budget " + preflight.USD(p.Budget)
		}
		all = append(all, a)
	}
	return all, nil
}

// sandboxProgram says how code in the sandbox is confined.
func (e *Engine) sandboxProgram(ctx context.Context, f *trust.Facts, exp *experiment.Experiment, p plan.Plan) error {
	const name = "the sandbox"
	var kinds []string
	unconfined := false
	for _, c := range p.Choices {
		kinds = append(kinds, c.Provider+" "+c.Isolation)
		unconfined = unconfined || c.HostMounts && c.Isolation == isolation.None
		if c.HostMounts && c.Isolation != isolation.None && p.Network == "host" {
			f.Network = append(f.Network, name)
		}
	}
	if !unconfined {
		f.Confined = append(f.Confined, trust.Program{Name: name, Command: strings.Join(slices.Compact(kinds), ", ")})
		if p.Nested {
			f.Nested = append(f.Nested, name)
		}
		return nil
	}
	files := workspaceFiles(exp)
	var served []string
	for _, s := range exp.Serve {
		files, served = append(files, s.File), append(served, filepath.Base(s.File))
	}
	for _, pair := range slices.Concat(exp.Sandbox.LocalFiles, exp.Sandbox.LocalDirs) {
		files = append(files, pair.Local)
	}
	command := "whatever it is given to run"
	if len(served) > 0 {
		command = strings.Join(served, ", ")
	}
	program, err := e.program(ctx, exp, name, command, files)
	f.Unconfined = append(f.Unconfined, program)
	return err
}

// agentProgram says how the agent is confined, and whose network it has.
func (e *Engine) agentProgram(ctx context.Context, f *trust.Facts, exp *experiment.Experiment, kind string) error {
	const name = "the agent"
	command := strings.Join(exp.Agent.Command, " ")
	if kind != isolation.None {
		f.Confined = append(f.Confined, trust.Program{Name: name, Command: command + " (" + kind + ")"})
		if exp.Agent.Nested {
			f.Nested = append(f.Nested, name)
		}
		if exp.Agent.Network == "open" {
			f.Network = append(f.Network, name)
		}
		return nil
	}
	program, err := e.program(ctx, exp, name, command, append(workspaceFiles(exp), commandFiles(exp)...))
	f.Unconfined = append(f.Unconfined, program)
	return err
}

// commandFiles are the files that the agent's command names, as its process finds them. The
// workspace's copies of what the experiment brings are not there before the first run.
func commandFiles(exp *experiment.Experiment) []string {
	copies := map[string]bool{}
	for _, path := range workspaceFiles(exp) {
		copies[filepath.Join(exp.Workspace.Dir, filepath.Base(path))] = true
	}
	var files []string
	for _, word := range exp.Agent.Command {
		if !filepath.IsAbs(word) {
			word = filepath.Join(exp.Workspace.Dir, word)
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() && !copies[word] {
			files = append(files, word)
		}
	}
	return files
}

// program is code that runs unconfined. Its digest covers the experiment with its
// overrides, and all files that it brings.
func (e *Engine) program(ctx context.Context, exp *experiment.Experiment, name, command string, files []string) (trust.Program, error) {
	config, err := exp.Config()
	if err != nil {
		return trust.Program{}, as(KindConfig, err)
	}
	argv := []string{}
	if exp.Agent != nil {
		argv = exp.Agent.Command
	}
	text, err := json.Marshal(argv) // it may have been replaced after the file was read
	if err != nil {
		return trust.Program{}, as(KindConfig, err)
	}
	digest, err := trust.Digest(ctx, [][]byte{config, text}, files)
	if err != nil {
		return trust.Program{}, as(KindConfig, fmt.Errorf("compute what %s runs: %w", name, err))
	}
	return trust.Program{Name: name, Command: command, Digest: digest}, nil
}

// snapshotFact describes the snapshot that a sandbox starts from.
func (e *Engine) snapshotFact(ctx context.Context, saved snapshot.Snapshot) *trust.Snapshot {
	signer, err := e.signerOf(ctx, saved)
	if err != nil {
		signer = "nobody known"
	}
	return &trust.Snapshot{Name: saved.Name, ID: saved.ID, Signer: signer}
}
