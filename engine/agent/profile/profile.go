// Package profile reads the profiles of agents. A profile is a data file, of Seer or of the user,
// that defines how Seer starts an agent. docs/agent-profiles.md has the format.
package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/seer-engine/seer/engine/agent/program"
	"github.com/seer-engine/seer/sdk"
)

// Profile defines how Seer starts an agent and communicates with it.
type Profile struct {
	Name          string   // name of its file, without .yaml
	Title         string   // display name, such as Claude Code
	Program       string   // name or absolute path of the program
	Install       string   // a sentence on how to install the program
	Minimum       string   // oldest supported version; empty = any
	VersionArgs   []string // arguments that print the version; not used for npm packages
	Driver        string   // claude, codex, acp or lines; see package driver
	API           string   // interface of the model: anthropic, responses, chat or gemini; empty = Seer measures nothing
	Upstream      string   // base URL of the model's API; empty = the user must name one
	Keys          []string // variables of the user's environment that may have the key, in order
	Header        string   // header with the key; empty = the default of API
	ModelRequired bool     // the experiment must name a model
	File          string   // path of the file; empty = Seer's own profile

	args  []*tmpl
	env   []*tmpl
	files []*tmpl
}

// Server is an MCP server that an agent uses over standard input and output.
type Server struct {
	Name    string
	Command string // absolute path
	Args    []string
	Env     map[string]string
}

// Data are the values for the templates of a profile.
type Data struct {
	Model      string // empty = the program chooses
	ModelURL   string // base URL of the model's API for the agent, without a slash at its end
	Upstream   string // base URL behind ModelURL
	Token      string // the key that the agent presents to ModelURL
	Servers    []Server
	MCPFile    string // path of a file {"mcpServers": …} with Servers
	Prompt     string
	PromptFile string
	Workspace  string   // the agent's working folder
	Home       string   // its private home
	MaxTurns   int      // 0 = no limit
	Tools      []string // built-in tools that the program may use; nil = all
	AsRoot     bool     // the agent runs as user 0
}

// Rendered is a profile with its values.
type Rendered struct {
	Args  []string          // arguments after the program, without empty ones
	Env   map[string]string // variables, without empty ones
	Files map[string]string // path below the home, with slashes → content
}

// Render fills in the templates. It does not change data. The error names the profile's line.
func (p *Profile) Render(data Data) (Rendered, error) {
	if p.ModelRequired && data.Model == "" {
		return Rendered{}, sdk.Errorf(sdk.Invalid, "%s has no model of its own choice; name one in agent.model", p.Title)
	}
	out := Rendered{Env: map[string]string{}, Files: map[string]string{}}
	for _, t := range p.args {
		text, err := t.render(data)
		if err != nil {
			return Rendered{}, err
		}
		if text != "" {
			out.Args = append(out.Args, text)
		}
	}
	for _, t := range p.env {
		text, err := t.render(data)
		if err != nil {
			return Rendered{}, err
		}
		if text != "" {
			out.Env[t.key] = text
		}
	}
	for _, t := range p.files {
		text, err := t.render(data)
		if err != nil {
			return Rendered{}, err
		}
		out.Files[t.key] = text
	}
	return out, nil
}

// Uses reports whether a template uses the field of [Data], such as MaxTurns. Otherwise the agent
// cannot receive that value.
func (p *Profile) Uses(field string) bool {
	for _, list := range [][]*tmpl{p.args, p.env, p.files} {
		for _, t := range list {
			if t.uses(field) {
				return true
			}
		}
	}
	return false
}

// Leads reports whether the variable leads the agent to its language model.
func (p *Profile) Leads(variable string) bool {
	return slices.ContainsFunc(p.env, func(t *tmpl) bool {
		return t.key == variable && (t.uses("Token") || t.uses("ModelURL"))
	})
}

// Find finds the profile's program and its version. The error has the code sdk.NotFound for an
// absent program, with the way to install it, and sdk.Unsupported for a program that is too old.
func (p *Profile) Find(ctx context.Context, env func(string) string) (program.Program, error) {
	found, err := program.Find(ctx, p.Program, env)
	if err != nil {
		if sdk.CodeOf(err) == sdk.NotFound && p.Install != "" {
			return found, sdk.Errorf(sdk.NotFound, "%s: %v. %s", p.Title, err, p.Install)
		}
		return found, fmt.Errorf("%s: %w", p.Title, err)
	}
	if found.Version == "" && len(p.VersionArgs) > 0 {
		if found.Version, err = found.AskVersion(ctx, p.VersionArgs...); err != nil && p.Minimum != "" {
			return found, fmt.Errorf("%s: %w", p.Title, err)
		}
	}
	if p.Minimum != "" && semver.Compare(canonical(found.Version), canonical(p.Minimum)) < 0 {
		return found, sdk.Errorf(sdk.Unsupported, "%s: %s has version %s, and Seer needs %s or newer. %s",
			p.Title, found.Path, found.Version, p.Minimum, p.Install)
	}
	return found, nil
}

// canonical converts a version to the form of semver. It keeps the part that semver can read of
// versions such as 1.2.3.4 and 2026.1.2.
func canonical(version string) string {
	parts := strings.SplitN(version, ".", 4)
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); trimmed != "" && trimmed[0] >= '0' && trimmed[0] <= '9' {
			parts[i] = trimmed
		}
	}
	return "v" + strings.Join(parts[:min(len(parts), 3)], ".")
}
