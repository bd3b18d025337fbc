package experiment

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// The providers of agents that have no profile, or whose profile names no program.
const (
	ProviderCommand = "command" // any program
	ProviderACP     = "acp"     // any program that speaks the Agent Client Protocol
)

// Text is the whole prompt of the experiment: task, prompt and prompts, divided by empty lines.
func (a *Agent) Text() string {
	var parts []string
	for _, part := range append([]string{a.Task, a.Prompt}, a.Prompts...) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Profiled reports whether Seer knows how to start and to understand the agent's program.
func (a *Agent) Profiled() bool { return a.Provider != ProviderCommand }

// Skills are the skill folders of the workspace and of the agent, each once.
func (e *Experiment) Skills() []string {
	all := slices.Clone(e.Workspace.Skills)
	if e.Agent != nil {
		for _, p := range e.Agent.Skills {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// agentProvider checks the fields that only some providers have.
func (v *validator) agentProvider(a *Agent) {
	if !a.Profiled() {
		if len(a.Command) == 0 {
			v.fail("agent.command", "provider command needs a command", "for example command: [python3, agent.py]")
		}
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"model", a.Model != ""}, {"max_turns", a.MaxTurns > 0}, {"budget", a.Budget > 0}, {"base_url", a.BaseURL != ""}, {"tools", len(a.Tools) > 0},
		} {
			if f.set {
				v.fail("agent."+f.name, "provider command is any program, so Seer cannot tell it this", "put it into the command, or name a provider such as claude")
			}
		}
		return
	}
	if a.Provider == ProviderACP && len(a.Command) == 0 {
		v.fail("agent.command", "provider acp needs a command", "for example command: [my-agent, --acp]")
	}
	if a.Text() == "" && a.PromptFile == "" {
		v.fail("agent.prompt", "the agent has nothing to do", "say it in task, prompt or prompt_file")
	}
}

// agentParts checks the fields that all providers have.
func (v *validator) agentParts(a *Agent) {
	for i, p := range a.Skills {
		v.path(fmt.Sprintf("agent.skills.%d", i), p)
	}
	if u, err := url.Parse(a.BaseURL); a.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "") {
		v.fail("agent.base_url", quote(a.BaseURL)+" is not an address of a server", "write https://host/path, without a key in it")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Servers)) {
		at := "agent.mcp_servers." + name
		if command, _ := a.Servers[name]["command"].(string); command == "" {
			v.fail(at, "the server has no command", "for example {command: docs-server, args: [--stdio]}")
		}
		for key := range a.Servers[name] {
			if !slices.Contains([]string{"command", "args", "env", "type"}, key) {
				v.fail(at, "it has "+quote(key)+", which Seer does not pass on", "servers have command, args and env")
			}
		}
	}
}
