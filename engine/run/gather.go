package run

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

// gathered is what the surfaces of a run come to, beside their files. Expose modes are
// strangers to each other: none puts its own in the place of another's.
type gathered struct {
	prompt  string
	servers map[string]sdk.MCPServer
	env     map[string]string
}

func (g *gathered) add(service string, w surface.Written) error {
	for name, server := range w.MCPServers {
		if _, there := g.servers[name]; there {
			return taken(service, "the MCP server "+name)
		}
		g.servers[name] = server
	}
	for name, value := range w.Env {
		if have, there := g.env[name]; there && have != value {
			return taken(service, "the variable "+name)
		}
		g.env[name] = value
	}
	g.tell(w.Prompt)
	return nil
}

// cite has the servers of functions show the agent the ID of each call, for citations. isSeer
// reports whether a command is this seer program: another one may not know the flag.
func cite(servers map[string]sdk.MCPServer, isSeer func(command string) bool) {
	for name, s := range servers {
		if len(s.Args) > 0 && s.Args[0] == "mcp" && slices.Contains(s.Args, "--connection") && isSeer(s.Command) {
			s.Args = append(slices.Clone(s.Args), "--call-ids")
			servers[name] = s
		}
	}
}

// isSeer reports whether a command of the agent is the seer program, which is at a path of this
// computer.
func (a *agentSetup) isSeer(seer string) func(command string) bool {
	own, err := os.Stat(seer)
	return func(command string) bool {
		if a.confined() && command == insideSeer {
			return true
		}
		there, missing := os.Stat(command)
		return errors.Join(err, missing) == nil && os.SameFile(there, own)
	}
}

// tell adds to the prompt.
func (g *gathered) tell(text string) {
	if text != "" {
		g.prompt += "\n\n" + text
	}
}

// free refuses a surface's file where this run has put one already: a library of the
// experiment's, or a file of another surface.
func (w *workspace) free(name, service string) error {
	if _, there := w.written[name]; there {
		return taken(service, "the file "+name)
	}
	return nil
}

func taken(service, what string) error {
	return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("the surface of %s has %s, which is in the agent's folder already; give the service another name, or expose it another way", service, what)}
}
