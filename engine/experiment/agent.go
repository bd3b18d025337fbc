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
				v.fail("agent."+f.name, "not supported with provider command, because Seer does not know the program's interface", "remove it, or name a provider such as claude")
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
		v.fail("agent.base_url", "not an address of a server", "write https://host/path, without a key or a query in it") // it may have a key
	}
	for _, name := range slices.Sorted(maps.Keys(a.Servers)) {
		v.mcpServer("agent.mcp_servers."+name, a.Servers[name])
	}
}

// remoteServer checks the address of an MCP server.
func (v *validator) remoteServer(at string, server map[string]any) {
	text, _ := server["url"].(string)
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		v.fail(at, "`url` is not an address of a server", "write https://host/path") // it may have a key
	}
	for _, key := range slices.Sorted(maps.Keys(server)) {
		switch headers, fits := server[key].(map[string]any); {
		case key == "headers" && fits:
			for name, value := range headers {
				if _, is := value.(string); !is {
					v.fail(at, "the header "+quote(name)+" is no text", "for example {Authorization: \"Bearer ${DOCS_TOKEN}\"}")
				}
			}
		case key == "headers":
			v.fail(at, "`headers` must map names to texts", "for example {Authorization: \"Bearer ${DOCS_TOKEN}\"}")
		case key != "url" && key != "type":
			v.fail(at, "it has "+quote(key)+" beside `url`", "servers with an address have url and headers; Streamable HTTP is the only way to them")
		}
	}
}

// mcpServer checks what an MCP server is started with.
func (v *validator) mcpServer(at string, server map[string]any) {
	if server["url"] != nil {
		v.remoteServer(at, server)
		return
	}
	if command, _ := server["command"].(string); command == "" {
		v.fail(at, "the server has no command", "for example {command: docs-server, args: [--stdio]}")
	}
	for _, key := range slices.Sorted(maps.Keys(server)) {
		value, fits := server[key], true
		switch key {
		case "command", "type":
		case "args":
			_, fits = value.([]any)
		case "env":
			_, fits = value.(map[string]any)
		default:
			v.fail(at, "it has "+quote(key)+", which Seer does not pass on", "servers have command, args and env")
		}
		if !fits {
			v.fail(at, map[string]string{"args": "`args` must be a list of texts", "env": "`env` must map names to texts"}[key], "for example {command: docs-server, args: [--stdio], env: {A: b}}")
		}
	}
}
