package effects

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/trust"
)

// agentKeys lists the values of the user's that the agent gets, the key that its requests are
// paid with, and the files that its MCP servers name.
func (f Finder) agentKeys(facts *trust.Facts, exp *experiment.Experiment) error {
	a := exp.Agent
	for _, server := range a.Servers {
		facts.Read = append(facts.Read, serverFiles(server)...)
	}
	if len(a.Secrets)+len(a.Servers) == 0 && !a.Profiled() {
		return nil
	}
	sources, err := f.Agents(exp)
	if err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Servers)) {
		remoteServer(facts, name, a.Servers[name], sources.Lookup)
	}
	for _, name := range a.Secrets {
		_, from, _ := sources.Lookup(name)
		facts.Secrets = append(facts.Secrets, trust.Secret{Name: name, From: from, To: "the agent"})
	}
	if !a.Profiled() {
		return nil
	}
	p, err := profile.Load(a.Provider, sources.Profiles...)
	if err != nil {
		return errdefs.Wrap(errdefs.KindConfig, err)
	}
	name, _, from := sources.Key(p)
	if u, err := url.Parse(sources.Upstream(a, p)); err == nil && name != "" && u.Host != "" {
		facts.Secrets = append(facts.Secrets, trust.Secret{Name: name, From: from, To: u.Scheme + "://" + u.Host + ", which answers the agent" + limitOf(a)})
	}
	return nil
}

// remoteServer lists the host of an MCP server with an address, and the values that it gets.
func remoteServer(facts *trust.Facts, name string, server map[string]any, lookup agent.Lookup) {
	address, _ := server["url"].(string)
	u, err := url.Parse(address)
	if address == "" || err != nil {
		return
	}
	host := u.Scheme + "://" + u.Host
	facts.Hosts = append(facts.Hosts, fmt.Sprintf("%s, the MCP server %s", host, name))
	for _, variable := range agent.HeaderVariables(server) {
		_, from, _ := lookup(variable)
		facts.Secrets = append(facts.Secrets, trust.Secret{Name: variable, From: from, To: host})
	}
}

func limitOf(a *experiment.Agent) string {
	if a.Budget > 0 {
		return fmt.Sprintf(", for at most $%.2f", a.Budget)
	}
	return ""
}

// serverFiles are the files of this computer that an MCP server names by absolute paths.
func serverFiles(server map[string]any) []string {
	words := []any{server["command"]}
	args, _ := server["args"].([]any)
	var paths []string
	for _, word := range append(words, args...) {
		if path, is := word.(string); is && filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return realPaths(paths...)
}
