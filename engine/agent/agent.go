// Package agent finds an agent's program, the address of its language model, its keys and its
// prices, and reports what is missing, before Seer rents a machine.
package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/agent/program"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/spelling"
)

// Lookup returns a variable's value and its source: the environment, or a file of variables beside
// the experiment.
type Lookup func(name string) (value, from string, ok bool)

// Sources are the inputs of [Sources.Resolve] on this computer.
type Sources struct {
	Lookup   Lookup
	Getenv   func(string) string // the environment alone
	Profiles []string            // folders of the user's profiles; see [profile.Load]
	Prices   []string            // files of the user's prices of language models
}

// Setup is an agent whose program Seer can start.
type Setup struct {
	Profile  *profile.Profile // nil = provider command: any program
	Program  program.Program  // empty without a profile, or if it is in the workspace
	Argv     []string         // the program, without the arguments of the profile
	Upstream string           // base URL of the language model; empty = Seer measures none
	Prices   *meter.Prices    // of language models; nil if Seer measures none
	Key      string           // for Upstream; empty = none
	Secrets  map[string]string
	Servers  map[string]Server // the experiment's MCP servers
}

// Server is an MCP server whose program has been found, or one with an address.
type Server struct {
	URL     string            // empty = it has a program
	Headers map[string]string // of requests to URL
	Program program.Program   // empty = it is in the agent's folder
	Argv    []string
	Env     map[string]string
}

// Problem is a reason why an agent cannot start.
type Problem struct {
	Field   string // field of the experiment, such as agent.provider
	Message string
	Hint    string // what to do
}

// Resolve finds everything that the agent needs on this computer. It returns all problems at once;
// the setup is complete only without problems.
func (s Sources) Resolve(ctx context.Context, a *experiment.Agent) (Setup, []Problem) {
	setup := Setup{Argv: a.Command}
	var found []Problem
	setup.Secrets, found = s.secrets(a)
	var more []Problem
	setup.Servers, more = s.servers(ctx, a)
	found = append(found, more...)
	if !a.Profiled() {
		return setup, found
	}
	p, problems := s.profile(a)
	if len(problems) > 0 {
		return setup, append(found, problems...)
	}
	setup.Profile = p
	if problem := s.program(ctx, a, &setup); problem != nil {
		found = append(found, *problem)
	}
	found = append(found, s.model(a, &setup)...)
	found = append(found, reserved(p, a)...)
	return setup, append(found, unused(p, a)...)
}

func (s Sources) secrets(a *experiment.Agent) (map[string]string, []Problem) {
	values := map[string]string{}
	var found []Problem
	for i, name := range a.Secrets {
		value, _, ok := s.Lookup(name)
		if !ok {
			found = append(found, Problem{fmt.Sprintf("agent.secrets.%d", i), "the secret `" + name + "` is not set", "set it in the environment or in .env beside the experiment"})
			continue
		}
		values[name] = value
	}
	return values, found
}

// servers finds the programs of the experiment's MCP servers.
func (s Sources) servers(ctx context.Context, a *experiment.Agent) (map[string]Server, []Problem) {
	servers := map[string]Server{}
	var found []Problem
	for _, name := range slices.Sorted(maps.Keys(a.Servers)) {
		entry := a.Servers[name]
		if address, _ := entry["url"].(string); address != "" {
			headers, problems := s.headers("agent.mcp_servers."+name, entry)
			servers[name], found = Server{URL: address, Headers: headers}, append(found, problems...)
			continue
		}
		command, _ := entry["command"].(string)
		server := Server{Argv: []string{command}, Env: map[string]string{}}
		if filepath.Base(command) == command || filepath.IsAbs(command) {
			p, err := program.Find(ctx, command, s.Getenv)
			if err != nil {
				found = append(found, Problem{"agent.mcp_servers." + name, err.Error(), "install it, or name its path"})
				continue
			}
			server.Program, server.Argv = p, slices.Clone(p.Argv)
		}
		args, _ := entry["args"].([]any)
		for _, arg := range args {
			server.Argv = append(server.Argv, fmt.Sprint(arg))
		}
		env, _ := entry["env"].(map[string]any)
		for key, value := range env {
			server.Env[key] = fmt.Sprint(value)
		}
		servers[name] = server
	}
	return servers, found
}

// variable is one in the value of a header.
var variable = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// headers are those of a server's requests, with the values of variables.
func (s Sources) headers(field string, entry map[string]any) (map[string]string, []Problem) {
	headers := map[string]string{}
	var found []Problem
	all, _ := entry["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		headers[name] = variable().ReplaceAllStringFunc(fmt.Sprint(all[name]), func(text string) string {
			value, _, ok := s.Lookup(variable().FindStringSubmatch(text)[1])
			if !ok {
				found = append(found, Problem{field, "the variable " + text + " of the header " + name + " is not set", "set it in the environment or in .env beside the experiment"})
			}
			return value
		})
	}
	return headers, found
}

// HeaderVariables are the variables in the headers of an MCP server.
func HeaderVariables(entry map[string]any) (names []string) {
	all, _ := entry["headers"].(map[string]any)
	for _, value := range all {
		for _, m := range variable().FindAllStringSubmatch(fmt.Sprint(value), -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Sources) profile(a *experiment.Agent) (*profile.Profile, []Problem) {
	if a.Provider == experiment.ProviderACP {
		return &profile.Profile{Name: a.Provider, Title: "an agent of provider acp", Driver: driver.ACP}, nil
	}
	names := profile.Names(s.Profiles...)
	for _, name := range names {
		if name != a.Provider {
			continue
		}
		p, err := profile.Load(name, s.Profiles...)
		return p, inFile(err, "correct the profile")
	}
	known := append([]string{experiment.ProviderCommand, experiment.ProviderACP}, names...)
	hint := "known: " + strings.Join(known, ", ")
	if near := spelling.Nearest(a.Provider, known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return nil, []Problem{{"agent.provider", fmt.Sprintf("unknown provider `%s`", a.Provider), hint}}
}

// inFile are the mistakes of a profile or of prices, one problem each.
func inFile(err error, hint string) (all []Problem) {
	if err == nil {
		return nil
	}
	for _, text := range profile.Mistakes(err) {
		all = append(all, Problem{"agent.provider", text, hint})
	}
	return all
}

// program finds the program of the profile, or the command that replaces it.
func (s Sources) program(ctx context.Context, a *experiment.Agent, setup *Setup) *Problem {
	p := *setup.Profile
	field := "agent.provider"
	var rest []string
	if len(a.Command) > 0 {
		field, p.Program, rest = "agent.command.0", a.Command[0], a.Command[1:]
	}
	if filepath.Base(p.Program) != p.Program && !filepath.IsAbs(p.Program) {
		setup.Argv = a.Command // the experiment brings it into the workspace
		return nil
	}
	found, err := p.Find(ctx, s.Getenv)
	if err != nil {
		hint := p.Install
		var absent *program.NotFoundError
		if !errors.As(err, &absent) {
			hint = ""
		}
		return &Problem{field, err.Error(), hint}
	}
	setup.Program, setup.Argv = found, append(found.Argv[:len(found.Argv):len(found.Argv)], rest...)
	return nil
}

// addresses are the variables that name another server for an interface.
var addresses = map[string]string{
	"anthropic": "ANTHROPIC_BASE_URL", "responses": "OPENAI_BASE_URL", "chat": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL",
}

// Upstream returns the base URL of the agent's language model, without a slash at its end. It comes
// from the experiment, else from the user's environment, else from the profile. It never comes from
// a file beside the experiment: Seer sends the user's key to the URL, and such a file may be part
// of another person's experiment.
func (s Sources) Upstream(a *experiment.Agent, p *profile.Profile) string {
	for _, url := range []string{a.BaseURL, s.Getenv(addresses[p.API]), p.Upstream} {
		if url != "" {
			return strings.TrimRight(url, "/")
		}
	}
	return ""
}

// Key returns the first of the profile's variables that is set.
func (s Sources) Key(p *profile.Profile) (name, value, from string) {
	for _, name := range p.Keys {
		if value, from, ok := s.Lookup(name); ok {
			return name, value, from
		}
	}
	return "", "", ""
}

// model finds the language model, the user's key for it, and its price.
func (s Sources) model(a *experiment.Agent, setup *Setup) (found []Problem) {
	p := setup.Profile
	if p.API == "" {
		return nil
	}
	setup.Upstream = s.Upstream(a, p)
	u, err := url.Parse(setup.Upstream)
	if setup.Upstream == "" || err != nil || u.Host == "" {
		found = append(found, Problem{"agent.base_url", "the address of the language model is not known", "name it in agent.base_url"})
	}
	_, setup.Key, _ = s.Key(p)
	if setup.Key == "" && setup.Upstream == strings.TrimRight(p.Upstream, "/") && len(p.Keys) > 0 {
		found = append(found, Problem{"agent.provider", fmt.Sprintf("%s has no key for its language model: %s is not set", p.Title, strings.Join(p.Keys, " or ")),
			"set it in the environment or in .env beside the experiment; Seer does not use subscription logins, because the agent would see the login and Seer could not measure its cost"})
	}
	if setup.Prices, err = meter.ReadPrices(s.Prices...); err != nil {
		return append(found, inFile(err, "correct the prices")...)
	}
	if _, known := setup.Prices.Find(a.Model); a.Budget > 0 && a.Model != "" && !known {
		found = append(found, Problem{"agent.budget", "no price is known for the model `" + a.Model + "`, so the budget could not be kept",
			strings.TrimSpace("remove the budget, or add the price to " + strings.Join(s.Prices, " or "))})
	}
	return found
}

// reserved finds variables that would lead the agent past Seer's proxy, or show it the user's key.
func reserved(p *profile.Profile, a *experiment.Agent) (found []Problem) {
	if p.API == "" {
		return nil
	}
	taken := func(name string) bool {
		return slices.Contains(p.Keys, name) || name == addresses[p.API] || p.Leads(name)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if taken(name) {
			found = append(found, Problem{"agent.env." + name, "Seer sets `" + name + "` so that its proxy holds the key and counts the cost", "remove it; agent.base_url names another server"})
		}
	}
	for i, name := range a.Secrets {
		if taken(name) {
			found = append(found, Problem{fmt.Sprintf("agent.secrets.%d", i), "`" + name + "` is a key of the language model, which the agent never sees", "remove it; Seer's proxy finds the key by itself"})
		}
	}
	return found
}

// unused finds fields that have no effect with the profile, and an absent model that it requires.
func unused(p *profile.Profile, a *experiment.Agent) (found []Problem) {
	if a.MaxTurns > 0 && !p.Uses("MaxTurns") && p.API == "" {
		found = append(found, Problem{"agent.max_turns", "Seer cannot count the turns of " + p.Title + ", because its requests do not pass Seer's proxy", "remove it, or write a profile that names its api"})
	}
	if len(a.Tools) > 0 && !p.Uses("Tools") {
		found = append(found, Problem{"agent.tools", p.Title + " cannot be limited to a list of tools", "remove it, or use another agent"})
	}
	if a.Budget > 0 && p.API == "" {
		found = append(found, Problem{"agent.budget", "Seer cannot measure the cost of " + p.Title, "remove it, or write a profile that names its api"})
	}
	if p.ModelRequired && a.Model == "" {
		found = append(found, Problem{"agent.model", p.Title + " has no model of its own choice", "name one"})
	}
	return found
}
