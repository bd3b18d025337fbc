package agent_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestProblems: Resolve finds all problems before Seer rents a machine.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	write := func(path, text string) {
		testkit.WriteProgram(t, path, text)
	}
	profile := filepath.Join(dir, "mine.yaml")
	write(profile, "args: -x\n"+strings.Repeat("#\n", 9)+"driver: clade\nprogram: ./a\nenv: {A B: x}\ntitel: Mine\n")
	write(filepath.Join(dir, "claude"), "#!/bin/sh\necho 2.1.330")
	sources := agent.Sources{
		Lookup: func(name string) (value, from string, ok bool) { return "value", "environment", name != "ABSENT" },
		Getenv: func(name string) string { return map[string]string{"PATH": dir + ":/usr/bin:/bin"}[name] },
		Prices: []string{prices}, Profiles: []string{dir},
	}
	for name, c := range map[string]struct {
		agent  experiment.Agent
		prices string
		want   []string // beginnings, in order
	}{
		"good":            {agent: experiment.Agent{Model: "claude-opus-4-5", Budget: 1, Env: map[string]string{"MCP_TIMEOUT": "1"}, Secrets: []string{"OTHER"}}},
		"unpriced":        {agent: experiment.Agent{Model: "nobody-knows", Budget: 1}, want: []string{"agent.budget no price is known for the model `nobody-knows`"}},
		"priced by user":  {agent: experiment.Agent{Model: "nobody-knows", Budget: 1}, prices: "prices: {nobody-*: {input: 1, output: 2}}"},
		"without budget":  {agent: experiment.Agent{Model: "nobody-knows"}},
		"mistaken prices": {prices: "prices: {a: {input: -1, output: 2}}", want: []string{"agent.provider " + prices + ":1"}},
		"mistaken profile": {agent: experiment.Agent{Provider: "mine"}, want: []string{
			"agent.provider " + profile + ":1: args: not a list", "agent.provider " + profile + ":11: driver:", "agent.provider " + profile + ":12: program:",
			"agent.provider " + profile + ":13: env:", "agent.provider " + profile + ":14: profile: unknown key",
		}},
		"header": {
			agent: experiment.Agent{Servers: map[string]map[string]any{"docs": {"url": "https://docs.example", "headers": map[string]any{"A": "Bearer ${ABSENT}", "B": "${OTHER}"}}}},
			want:  []string{"agent.mcp_servers.docs the variable ${ABSENT} of the header A is not set"},
		},
		"variables": {
			agent: experiment.Agent{Env: map[string]string{"ANTHROPIC_BASE_URL": "https://evil.example", "ANTHROPIC_API_KEY": "k"}, Secrets: []string{"ANTHROPIC_API_KEY", "ABSENT"}},
			want:  []string{"agent.secrets.1 the secret `ABSENT`", "agent.env.ANTHROPIC_API_KEY ", "agent.env.ANTHROPIC_BASE_URL ", "agent.secrets.0 `ANTHROPIC_API_KEY`"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(prices, cmp.Or(c.prices, "prices: {another: {input: 1, output: 1}}"))
			c.agent.Provider = cmp.Or(c.agent.Provider, "claude")
			_, problems := sources.Resolve(t.Context(), &c.agent)
			fits := func(p agent.Problem, want string) bool { return strings.HasPrefix(p.Field+" "+p.Message, want) }
			if !slices.EqualFunc(problems, c.want, fits) {
				t.Errorf("got %v, not %v", problems, c.want)
			}
		})
	}
}
