package rpc

import (
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
func (s *Server) agent(ctx context.Context, p AgentParams) (AgentResult, error) {
	if !filepath.IsAbs(p.Dir) {
		return AgentResult{}, refuse(engine.KindConfig, "the folder %q of the agent is not absolute", p.Dir)
	}
	text, err := json.Marshal(map[string]any{"agent": p.Agent})
	if err != nil {
		return AgentResult{}, err
	}
	exp, err := experiment.Parse(text, filepath.Join(p.Dir, "agent"), experiment.LoadOptions{})
	if err != nil {
		return AgentResult{}, err
	}
	servers := map[string]any{}
	for name, server := range p.MCPServers {
		servers[name] = server
	}
	progress, done := s.windowed(ctx, p.Stream)
	defer done()
	code, err := run.Agent(ctx, s.Engine, run.AgentOptions{
		Agent: exp.Agent, Dir: p.Dir, Servers: servers, Env: p.Env, Sandboxes: s.sandboxes(), Progress: progress,
	})
	return AgentResult{ExitCode: code}, err
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
