package run

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/inside"
	"github.com/seer-engine/seer/engine/agent/mcpbridge"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/sdk"
)

// watch has the agent's MCP servers run below the seer program, which reports one that does not
// come up: most agents go on without it and say nothing.
func (p *profiled) watch(a *agentSetup, r *runner, servers []profile.Server) ([]profile.Server, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	if r.opts.Seer == "" {
		r.warn("MCP servers that do not start are not noticed, because the seer program is not known")
		return servers, nil
	}
	l, socket, err := a.socket(r, insideServers)
	if err != nil {
		return nil, err
	}
	seer := a.seerPath(r.opts.Seer)
	var names []string
	var watched []profile.Server
	for _, s := range servers {
		names = append(names, s.Name)
		s.Command, s.Args = seer, inside.ServerArgs(s.Name, socket, s.Command, s.Args)
		watched = append(watched, s)
	}
	p.watcher = inside.Watch(l, names, func(server, problem string) {
		if !p.stopped.Load() {
			r.report.Send(event.AgentServerFailed{Server: server, Problem: problem})
		}
	})
	return watched, nil
}

// bridge opens the agent's way to an MCP server with an address, and returns the program that it
// starts in the server's place.
func (a *agentSetup) bridge(r *runner, name string, s agent.Server) (sdk.MCPServer, error) {
	l, socket, err := a.socket(r, fmt.Sprintf("/run/seer/mcp-%d.sock", len(a.bridges)))
	if err != nil {
		return sdk.MCPServer{}, fmt.Errorf("make the agent's way to the MCP server %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		mcpbridge.Serve(ctx, l, mcpbridge.Server{URL: s.URL, Headers: s.Headers})
	}()
	a.bridges = append(a.bridges, func() {
		cancel()
		<-done
	})
	return sdk.MCPServer{Command: a.seerPath(r.opts.Seer), Args: inside.JoinArgs(socket)}, nil
}

// missServers reports the servers that the agent's program has not even started, if its turn has
// ended well.
func (p *profiled) missServers(r *runner) {
	if p.watcher == nil || p.outcome.Reason != driver.EndTurn {
		return
	}
	for _, name := range p.watcher.NotStarted() {
		r.report.Send(event.AgentServerFailed{Server: name, Problem: "the agent's program has not started it"})
	}
}

// socket opens a Unix socket that the agent finds at target, or unconfined at its own path. It
// returns the path for the agent.
func (a *agentSetup) socket(r *runner, target string) (net.Listener, string, error) {
	dir, err := r.engine.RunDirs().Replay() // with a short path
	if err != nil {
		return nil, "", err
	}
	a.temporary = append(a.temporary, dir)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil || !a.confined() {
		return l, socket, err
	}
	a.mounts = append(a.mounts, sdk.Mount{Source: socket, Target: target, Writable: true})
	return l, target, nil
}
