package doctor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent/doctor"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/testengine"
	"github.com/seer-engine/seer/internal/testkit"
)

var installed testengine.Installation

// program builds seer, once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(installed.Plugins), "seer")
	return path, installed.Seer(path)
})

func TestMain(m *testing.M) {
	testengine.Main(m, &installed)
}

const profile = `title: Fake
program: PROGRAM
driver: acp
args: ['FAULTS', 'HOME/.claude/CLAUDE.md']
api: chat
upstream: https://model.example
key: [FAKE_KEY]
header: authorization
env:
  OPENAI_BASE_URL: '{{.ModelURL}}/v1'
  OPENAI_API_KEY: '{{.Token}}'
  MODEL: '{{.Model}}'
`

// setup makes an engine for a user who has the fake agent with its faults, as a profile, and
// instructions of their own.
func setup(t *testing.T, faults, text string) *engine.Engine {
	t.Helper()
	home := t.TempDir()
	program, err := filepath.Abs("testdata/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("PROGRAM", program, "FAULTS", faults, "HOME", home).Replace(text)
	testkit.WriteFiles(t, home, map[string]string{
		".config/seer/agents/fake.yaml": text,
		".claude/CLAUDE.md":             "# Mine\n\nI prefer tabs to spaces, and äpfel to pears.\n",
	})
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "FAKE_KEY": "the user's own key"}
	return installed.Engine(t, func(o *engine.Options) {
		o.LookupEnv = doctor.LookupEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		o.Trust = trust.All
	})
}

func seer(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// problems are the checks that a program does not pass, with their details.
func problems(r doctor.Report) map[string]string {
	found := map[string]string{}
	for _, f := range r.Findings {
		if f.State != doctor.OK {
			found[f.Check] = string(f.State) + ": " + f.Detail + " | " + f.Remedy
		}
	}
	return found
}

func TestCheck(t *testing.T) {
	const untried = "skipped: "
	after := func(check string, more map[string]string) map[string]string {
		all := doctor.Checks()
		for _, c := range all[slices.Index(all, check)+1:] {
			more[c] = untried
		}
		return more
	}
	for _, c := range []struct {
		name, faults string
		profile      string // empty = profile
		isolation    string
		timeout      time.Duration
		state        doctor.State
		want         map[string]string // text in the detail of each problem
	}{
		{name: "good", faults: "none", state: doctor.OK},
		{name: "plain", faults: "plain", state: doctor.OK},
		{name: "blind", faults: "blind,stubborn,silent", state: doctor.Failed, want: map[string]string{
			doctor.Prompt: "failed: no word of the prompt", doctor.Stops: "failed: it went on for 3s after SIGTERM and was killed",
			doctor.Failure: "failed: it ended with exit code 0, although its model refused",
		}},
		{name: "toolless", faults: "toolless", state: doctor.Failed, want: map[string]string{
			doctor.Servers: "failed: its 1 requests offer the model no tool of the MCP server: the agent's program has not started it", doctor.Tools: untried, doctor.Handles: untried, doctor.LongCall: untried,
		}},
		{name: "denied", faults: "denied,mute", state: doctor.Failed, want: map[string]string{
			doctor.Tools: `did not reach its function: it answered "The user has denied this tool."`, doctor.Handles: untried, doctor.LongCall: untried,
			doctor.Ends: "did not say the last word",
		}},
		{name: "impatient", faults: "impatient,mangler", state: doctor.Failed, want: map[string]string{
			doctor.Handles: "failed: the result of a function did not come back", doctor.LongCall: "failed: the result of a call that took 3 s never arrived",
		}},
		{name: "hangs", faults: "hangs", timeout: 2 * time.Second, state: doctor.Failed, want: after(doctor.Starts, map[string]string{
			doctor.Starts: "failed: it never asked its model: it did not end within 2s and was stopped",
		})},
		{name: "dies", faults: "dies", state: doctor.Failed, want: after(doctor.Starts, map[string]string{
			doctor.Starts: "failed: it never asked its model: it ended with exit code 1: the program ended its output before its turn; it printed: the licence of this agent has ended",
		})},
		{name: "leaky", faults: "leaky,daemon", isolation: "none", state: doctor.Failed, want: map[string]string{
			doctor.Configuration: ".claude/CLAUDE.md | confine it", doctor.Processes: "failed: it left sleep (",
		}},
		{name: "absent", profile: "program: no-such-agent\ndriver: lines\ninstall: Install it from a shop.\n", state: doctor.Absent, want: after(doctor.Found, map[string]string{
			doctor.Found: "absent: there is no program no-such-agent in ",
		})},
		{name: "old", profile: "program: python3\nversion: [--version]\nminimum: \"99\"\ndriver: lines\n", state: doctor.Failed, want: after(doctor.Found, map[string]string{
			doctor.Found: "and Seer needs 99 or newer",
		})},
		{name: "unmeasured", profile: "program: python3\ndriver: lines\n", state: doctor.Skipped, want: after(doctor.Found, map[string]string{
			doctor.Starts: "names no api",
		})},
		{name: "broken", profile: "program: python3\ndriver: telepathy\n", state: doctor.Failed, want: after(doctor.Found, map[string]string{
			doctor.Found: `fake.yaml:2: driver: "telepathy" is unknown`,
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.profile
			if text == "" {
				text = profile
			}
			e := setup(t, c.faults, text)
			o := doctor.Options{Providers: []string{"fake"}, Seer: seer(t), Isolation: c.isolation, Timeout: c.timeout, Grace: 10 * time.Second}
			if strings.Contains(c.faults, "stubborn") {
				o.Grace = 3 * time.Second
			}
			reports, err := doctor.Check(t.Context(), e, o)
			if err != nil || len(reports) != 1 {
				t.Fatalf("%+v, %v", reports, err)
			}
			got := problems(reports[0])
			if reports[0].State != c.state || len(got) != len(c.want) {
				t.Errorf("state %s, problems %q", reports[0].State, got)
			}
			for check, text := range c.want {
				if !strings.Contains(got[check], text) {
					t.Errorf("%s: %q, not %q", check, got[check], text)
				}
			}
			nothingLeft(t, e)
		})
	}
}

// nothingLeft fails the test if a trial has left its folder. Sandboxes fail it anyway.
func nothingLeft(t *testing.T, e *engine.Engine) {
	t.Helper()
	left, _ := filepath.Glob(filepath.Join(e.RunDirs().StateDir(), "agents", "*"))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestCheckIsCancelled(t *testing.T) {
	e := setup(t, "none", profile)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reports, err := doctor.Check(ctx, e, doctor.Options{Providers: []string{"fake"}, Seer: seer(t), Progress: func(_, what string) {
		if what == "being stopped" {
			cancel()
		}
	}})
	if len(reports) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", reports, err)
	}
	nothingLeft(t, e)
}

func TestUnknownProvider(t *testing.T) {
	e := setup(t, "none", profile)
	for name, text := range map[string]string{"clod": "known are claude, codex, fake, gemini, opencode", "acp": "write a profile"} {
		_, err := doctor.Check(t.Context(), e, doctor.Options{Providers: []string{name}, Seer: seer(t)})
		if engine.KindOf(err) != engine.KindNotFound || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysOfTheUserAreRefused(t *testing.T) {
	home := t.TempDir()
	program, _ := filepath.Abs("testdata/agent.py")
	testkit.WriteFile(t, filepath.Join(home, ".config/seer/agents/fake.yaml"), strings.NewReplacer("PROGRAM", program, "HOME", home).Replace(profile))
	e := installed.Engine(t, func(o *engine.Options) {
		o.LookupEnv = func(name string) (string, bool) {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "FAKE_KEY": "mine"}[name], true
		}
	})
	if _, err := doctor.Check(t.Context(), e, doctor.Options{Providers: []string{"fake"}, Seer: seer(t)}); engine.KindOf(err) != engine.KindInternal {
		t.Errorf("%v", err)
	}
}

// TestWrongProfile: each mistake of a profile is a finding of its own, with its line.
func TestWrongProfile(t *testing.T) {
	e := setup(t, "", "progam: x\ndriver: acp\nenv:\n  A: '{{.Modle}}'\n")
	reports, err := doctor.Check(t.Context(), e, doctor.Options{Providers: []string{"fake"}, Seer: seer(t)})
	if err != nil || len(reports) != 1 || reports[0].State != doctor.Failed {
		t.Fatalf("%+v, %v", reports, err)
	}
	var details []string
	for _, f := range reports[0].Findings {
		if f.State == doctor.Failed && f.Check == doctor.Found {
			details = append(details, f.Detail[strings.Index(f.Detail, "fake.yaml"):])
		}
	}
	want := []string{`fake.yaml:1: profile: unknown key "progam"; did you mean "program"?`, "fake.yaml:1: program: missing", `fake.yaml:4: env.A: unknown value ".Modle"; did you mean ".Model"?`}
	if !slices.Equal(details, want) {
		t.Errorf("%q", details)
	}
}
