package effects_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sources "github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/engine/trust/effects"
	"github.com/seer-engine/seer/internal/testkit"
)

// plugins has one provider that costs money, paid by credentials from project.
type plugins struct{ project string }

func (plugins) Native(provider string) bool              { return provider == "local" }
func (plugins) Reading(context.Context, string) []string { return nil }
func (p plugins) Paying(_ context.Context, provider string) trust.Account {
	return trust.Account{Provider: provider, Project: p.project}
}

func finder(p plugins) effects.Finder {
	return effects.Finder{Getenv: func(string) string { return "" }, Plugins: p,
		NeedsLogin: func(context.Context, string) (string, error) { return "", nil }}
}

// load reads an experiment in a folder of its own that also has an agent.
func load(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	dir := testkit.WriteFiles(t, t.TempDir(), map[string]string{"exp.yaml": text, "agent.py": "print(1)\n"})
	exp, err := experiment.Load(t.Context(), filepath.Join(dir, "exp.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

const agent = "name: test\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py], isolation: none}\n"

// TestOutsideOfTheFolder: what an experiment reads elsewhere is an effect, and what lies in
// its own folder is none.
func TestOutsideOfTheFolder(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	for path, outside := range map[string]bool{"./agent.py": false, elsewhere: true} {
		kind := "local_dirs"
		if !outside {
			kind = "local_files"
		}
		exp := load(t, "name: test\nsandbox:\n  "+kind+": [["+path+", /data]]\n")
		facts, err := finder(plugins{}).Facts(t.Context(), exp, plan.Plan{}, &preflight.Env{}, false)
		if err != nil {
			t.Fatal(err)
		}
		got := trust.Of(facts).Outside
		if named := slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, trust.Real(elsewhere)) }); named != outside {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// TestImagesByPath: what the sandbox can read of a host is an effect, once for each provider.
func TestImagesByPath(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"/shared/images": "start from /shared/images on machines of hosts, which the sandbox can read", "python:3.12": ""} {
		exp := load(t, "name: test\nsandbox: {image: {base: '"+base+"'}}\n")
		p := plan.Plan{Image: &plan.Image{Base: base}, Choices: []plan.Choice{{Provider: "hosts", Own: true}, {Provider: "hosts", Own: true}}}
		facts, err := finder(plugins{}).Facts(t.Context(), exp, p, &preflight.Env{}, false)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(trust.Of(facts).Outside, func(line string) bool { return !strings.HasPrefix(line, "start from") })
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %q", base, got)
		}
	}
}

// TestServersWithAnAddress: the host of an MCP server is an effect, and so is each value that it gets.
func TestServersWithAnAddress(t *testing.T) {
	t.Parallel()
	exp := load(t, "name: test\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py], mcp_servers: {docs: {url: 'https://docs.example/mcp?a=b', headers: {Authorization: 'Bearer ${LAB_TOKEN}'}}}}\n")
	f := finder(plugins{})
	f.Agents = func(*experiment.Experiment) (sources.Sources, error) {
		return sources.Sources{Lookup: func(string) (string, string, bool) { return "secret value", "environment", true }}, nil
	}
	all, err := f.Agent(t.Context(), exp, "bubblewrap")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(all.Outside, "\n")
	for _, want := range []string{"connect the agent to https://docs.example, the MCP server docs", "secret LAB_TOKEN from environment to https://docs.example"} {
		if !strings.Contains(got, want) || strings.Contains(got, "secret value") {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// TestCredentialsOfAnotherExperiment: an experiment rents nothing with what lies beside
// another one.
func TestCredentialsOfAnotherExperiment(t *testing.T) {
	t.Parallel()
	exp := load(t, "name: test\n")
	own := filepath.Join(filepath.Dir(exp.File), preflight.DotEnv)
	for project, refused := range map[string]bool{"": false, own: false, "/another/.env": true} {
		rented := plan.Plan{Choices: []plan.Choice{{Provider: "cloud"}, {Provider: "local"}}, Budget: 3}
		facts, err := finder(plugins{project}).Facts(t.Context(), exp, rented, &preflight.Env{}, false)
		if refused != (errdefs.KindOf(err) == errdefs.KindUntrusted) || !refused && err != nil {
			t.Errorf("%q: %v", project, err)
		}
		if !refused && (len(facts.Accounts) != 1 || !strings.HasPrefix(facts.Accounts[0].Limits, "budget $3")) {
			t.Errorf("%q: %+v", project, facts.Accounts)
		}
	}
}

// TestConfirm: what the user has confirmed for good is not asked again, until the agent's
// program changes. Without anybody to ask, it is refused.
func TestConfirm(t *testing.T) {
	t.Parallel()
	store := trust.Store{Dir: filepath.Join(t.TempDir(), "trust")}
	exp := load(t, agent)
	asked, answer := 0, trust.No
	g := &effects.Guard{Finder: finder(plugins{}),
		Store: func() (trust.Store, error) { return store, nil },
		Ask:   func(context.Context, trust.Effects) (trust.Answer, error) { asked++; return answer, nil },
	}
	confirm := func(want error, questions int) {
		t.Helper()
		asked = 0
		found, err := g.Agent(t.Context(), exp, "none")
		if err != nil {
			t.Fatal(err)
		}
		err = g.Confirm(t.Context(), found)
		var refusal *trust.Error
		if (want != nil) != errors.As(err, &refusal) || want == nil && err != nil || asked != questions {
			t.Errorf("%v after %d questions", err, asked)
		}
	}
	refused := &trust.Error{}
	confirm(refused, 1)
	answer = trust.Once
	confirm(nil, 1)
	answer = trust.Always
	confirm(nil, 1)
	confirm(nil, 0)
	if err := os.WriteFile(filepath.Join(filepath.Dir(exp.File), "agent.py"), []byte("print(2)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Ask = nil
	confirm(refused, 0)
}

// TestReplay: an agent that has run is replayed without a question, and another is not.
func TestReplay(t *testing.T) {
	t.Parallel()
	store := trust.Store{Dir: filepath.Join(t.TempDir(), "trust")}
	g := &effects.Guard{Finder: finder(plugins{}), Store: func() (trust.Store, error) { return store, nil }}
	exp := load(t, agent)
	if err := g.ConfirmReplay(t.Context(), exp, "none"); errdefs.KindOf(err) != errdefs.KindUntrusted {
		t.Errorf("before it has run: %v", err)
	}
	if err := g.RememberRun(t.Context(), exp, "none"); err != nil {
		t.Fatal(err)
	}
	if err := g.ConfirmReplay(t.Context(), exp, "none"); err != nil {
		t.Errorf("after it has run: %v", err)
	}
	exp.Agent.Command = append(exp.Agent.Command, "--more")
	if err := g.ConfirmReplay(t.Context(), exp, "none"); errdefs.KindOf(err) != errdefs.KindUntrusted {
		t.Errorf("another command: %v", err)
	}
}
