package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/run"
)

// windowLines is how many lines of output a client need not acknowledge.
const windowLines = 1000

// window has an element for each line of output that the client has not acknowledged, so that
// an agent that prints faster than the client reads has to wait.
type window chan struct{}

// agent runs an agent. It may reach the sandboxes that the client uses.
func (s *Server) agent(ctx context.Context, p AgentParams) (_ AgentResult, err error) {
	defer ofMessage(&err)
	base := cmp.Or(p.Base, p.Dir)
	for what, path := range map[string]string{"folder of the agent": p.Dir, "folder of relative paths": base, "folder of runs": cmp.Or(p.Runs, base)} {
		if !filepath.IsAbs(path) {
			return AgentResult{}, refuse(engine.KindConfig, "the %s %q is not absolute", what, path)
		}
	}
	exp, err := p.parse(base)
	if err != nil {
		return AgentResult{}, err
	}
	resolved, err := p.resolved(exp)
	if err != nil {
		return AgentResult{}, err
	}
	progress, done := s.windowed(ctx, p.Stream)
	defer done()
	got, err := run.Agent(ctx, s.Engine, run.AgentOptions{
		Agent: exp.Agent, Name: p.Name, Dir: p.Dir, Base: base, Env: p.Env, Sandboxes: s.sandboxes(), Progress: progress,
		Seer: s.Program, Version: s.Version, Runs: p.Runs, Resolved: resolved,
	})
	return AgentResult{ExitCode: got.ExitCode, Reason: got.Reason, ModelCost: got.ModelCost, Folder: got.Folder}, err
}

// parse checks the agent as that of an experiment.
func (p AgentParams) parse(base string) (*experiment.Experiment, error) {
	agent := map[string]any{"mcp_servers": p.MCPServers}
	maps.Copy(agent, p.Agent)
	text, err := json.Marshal(map[string]any{"agent": agent})
	if err != nil {
		return nil, err
	}
	return experiment.Parse(text, filepath.Join(base, "agent"), experiment.LoadOptions{})
}

// resolved is the agent for the folder of the run: without the variables and headers of its MCP
// servers, which may have tokens.
func (p AgentParams) resolved(exp *experiment.Experiment) (json.RawMessage, error) {
	config, err := exp.Config()
	if err != nil {
		return nil, err
	}
	var all struct {
		Agent map[string]any `json:"agent"`
	}
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	servers, _ := all.Agent["mcp_servers"].(map[string]any)
	for _, s := range servers {
		if entry, ok := s.(map[string]any); ok {
			delete(entry, "env")
			delete(entry, "headers")
		}
	}
	return json.Marshal(map[string]any{"name": cmp.Or(p.Name, "agent"), "agent": all.Agent, "dir": p.Dir})
}

// sandboxes are those that the client uses.
func (s *Server) sandboxes() []*engine.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

// windowed is progress that waits with output while too many lines of the stream are not
// acknowledged.
func (s *Server) windowed(ctx context.Context, stream string) (event.Func, func()) {
	send := s.progress(ctx)
	if stream == "" {
		return send, func() {}
	}
	sent := make(window, windowLines)
	s.mu.Lock()
	s.sent[stream] = sent
	s.mu.Unlock()
	wait := func(e event.Event) {
		if e.Kind() == event.KindOutput {
			select {
			case sent <- struct{}{}:
			case <-ctx.Done():
			}
		}
		send(e)
	}
	return wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sent, stream)
	}
}

// acknowledge lets an agent print more; one that has ended prints nothing.
func (s *Server) acknowledge(_ context.Context, p AcknowledgeParams) (None, error) {
	s.mu.Lock()
	sent := s.sent[p.Stream]
	s.mu.Unlock()
	for range p.Lines {
		select {
		case <-sent:
		default:
			return None{}, nil
		}
	}
	return None{}, nil
}
