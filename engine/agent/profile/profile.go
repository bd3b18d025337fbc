// Package profile reads how agents are started: a data file for each, of Seer or of the user.
package profile

import (
	"context"
	"errors"

	"github.com/seer-engine/seer/engine/agent/program"
)

// Profile says how an agent is started and spoken to.
type Profile struct {
	Name    string
	Title   string // for people: Claude Code
	Program string // name or absolute path of the program
	Install string // a sentence that says how to get the program
	Minimum string // oldest version that works; empty = any
	// VersionArgs has the program print its version, for programs in no package.
	VersionArgs []string
	Driver      string   // claude, codex, acp or lines; see package driver
	API         string   // of the model: anthropic, responses, chat or gemini; empty = it has none that Seer measures
	Upstream    string   // base URL of the model's API; empty = the user must name one
	Keys        []string // variables of the environment that may have the user's key, in order
	Header      string   // that carries the key; empty = by API
	Model       string   // that is asked for where the experiment names none; empty = the program's own choice
	File        string   // where it was read; empty = it is Seer's own
	// has unexported templates
}

// Server is an MCP server that an agent gets, by standard input and output.
type Server struct {
	Name    string
	Command string // absolute path
	Args    []string
	Env     map[string]string
}

// Data is what the templates of a profile see.
type Data struct {
	Model      string // empty = the program's own choice
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
	Tools      []string // tools of its own that it may use; nil = all
	AsRoot     bool     // it runs as user 0
}

// Rendered is a profile with its values.
type Rendered struct {
	Args  []string          // after the program
	Env   map[string]string // values that are empty are left out
	Files map[string]string // path below the home, with slashes → content
}

// Load finds the profile of a name: NAME.yaml in one of dirs, the first wins, else Seer's own.
// All mistakes of a file are reported at once, each with file:line.
func Load(name string, dirs ...string) (*Profile, error) { return nil, errors.ErrUnsupported }

// Names lists the profiles that [Load] finds, sorted.
func Names(dirs ...string) []string { return nil }

// Render fills the templates in. It does not change data.
func (p *Profile) Render(data Data) (Rendered, error) { return Rendered{}, errors.ErrUnsupported }

// Find finds the profile's program and checks its version: too old is an error with the code
// sdk.Unsupported, absent one with sdk.NotFound, which says how to install it.
func (p *Profile) Find(ctx context.Context, env func(string) string) (program.Program, error) {
	return program.Program{}, errors.ErrUnsupported
}
