package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/trust"
)

// Agent is the effects of the agent alone, as a replay runs it.
func (f Finder) Agent(ctx context.Context, exp *experiment.Experiment, kind string) (trust.Effects, error) {
	facts := f.Subject(exp)
	facts.Read = workspaceFiles(exp)
	facts.Written = realPaths(exp.Workspace.Dir)
	err := f.agentProgram(ctx, &facts, exp, kind)
	return trust.Of(facts), err
}

// sandboxProgram says how code in the sandbox is confined.
func (f Finder) sandboxProgram(ctx context.Context, facts *trust.Facts, exp *experiment.Experiment, p plan.Plan) error {
	const name = "the sandbox"
	var kinds []string
	unconfined := false
	for _, c := range p.Choices {
		kinds = append(kinds, c.Provider+" "+c.Isolation)
		unconfined = unconfined || (c.HostMounts || c.Own) && c.Isolation == isolation.None
		if c.HostMounts && c.Isolation != isolation.None && p.Network == "host" {
			facts.Network = append(facts.Network, name)
		}
	}
	if !unconfined {
		facts.Confined = append(facts.Confined, trust.Program{Name: name, Command: strings.Join(slices.Compact(kinds), ", ")})
		if p.Nested {
			facts.Nested = append(facts.Nested, name)
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
	program, err := f.program(ctx, exp, name, command, files)
	facts.Unconfined = append(facts.Unconfined, program)
	return err
}

// agentProgram says how the agent is confined, and whose network it has.
func (f Finder) agentProgram(ctx context.Context, facts *trust.Facts, exp *experiment.Experiment, kind string) error {
	const name = "the agent"
	if err := f.agentKeys(facts, exp); err != nil {
		return err
	}
	command := strings.Join(slices.Concat(exp.Agent.Command, exp.Agent.Args), " ")
	if exp.Agent.Profiled() {
		command = strings.TrimSpace(exp.Agent.Provider + " " + command)
	}
	if kind != isolation.None {
		facts.Confined = append(facts.Confined, trust.Program{Name: name, Command: command + " (" + kind + ")"})
		if exp.Agent.Nested {
			facts.Nested = append(facts.Nested, name)
		}
		if exp.Agent.Network == "open" {
			facts.Network = append(facts.Network, name)
		}
		return nil
	}
	program, err := f.program(ctx, exp, name, command, append(workspaceFiles(exp), commandFiles(exp)...))
	facts.Unconfined = append(facts.Unconfined, program)
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
func (f Finder) program(ctx context.Context, exp *experiment.Experiment, name, command string, files []string) (trust.Program, error) {
	config, err := exp.Config()
	if err != nil {
		return trust.Program{}, errdefs.Wrap(errdefs.KindConfig, err)
	}
	argv := []string{}
	if exp.Agent != nil {
		argv = exp.Agent.Command
	}
	text, err := json.Marshal(argv) // it may have been replaced after the file was read
	if err != nil {
		return trust.Program{}, errdefs.Wrap(errdefs.KindConfig, err)
	}
	digest, err := trust.Digest(ctx, [][]byte{config, text}, files)
	if err != nil {
		return trust.Program{}, errdefs.Wrap(errdefs.KindConfig, fmt.Errorf("compute what %s runs: %w", name, err))
	}
	return trust.Program{Name: name, Command: command, Digest: digest}, nil
}
