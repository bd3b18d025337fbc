package experiment_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

const base = `
name: intro
sandbox: {timeout: 5m, models: [./m, {name: o/m}], env: {A: "1"}}
serve:
  - {file: interface.py}
agent: {command: [run]}
`

func TestOverrides(t *testing.T) {
	exp, err := parse(base, "name=other", "sandbox.timeout=2h", "serve.0.name=tools", "serve.1.file=more.py", "serve.1.expose_as=mcp",
		"sandbox.env={B: x}", "sandbox.models.1.hidden=true", "sandbox.models.0=./n", "agent=", "sandbox.network=open", "sandbox.ports=[80, 81]")
	if err != nil {
		t.Fatal(err)
	}
	s := exp.Sandbox
	if exp.Name != "other" || s.Timeout != 2*time.Hour || exp.Agent != nil || s.Network != "open" || len(s.Ports) != 2 {
		t.Errorf("got %+v", exp)
	}
	if len(exp.Serve) != 2 || exp.Serve[0].Name != "tools" || exp.Serve[1].ExposeAs != "mcp" || exp.Serve[1].Name != "more" {
		t.Errorf("serve: %+v", exp.Serve)
	}
	if len(s.Env) != 2 || s.Models[0].Path != "/lab/intro/n" || !s.Models[1].Hidden {
		t.Errorf("sandbox: %+v", s)
	}
}

// TestATextThatYAMLTakesForSomethingElse says how to give it.
func TestATextThatYAMLTakesForSomethingElse(t *testing.T) {
	for _, set := range []string{"agent.prompt=a: b", "agent.prompt=a: b: c", "agent.prompt=[x", "agent.prompt=[1, 2]", "agent.prompt=42"} {
		_, err := parse(base, set)
		if err == nil && set == "agent.prompt=42" {
			continue // taken as it is
		}
		if err == nil || !strings.Contains(err.Error(), "override agent.prompt: ") {
			t.Errorf("%s: %v", set, err)
		}
	}
	if exp, err := parse(base, `agent.prompt="a: b"`); err != nil || exp.Agent.Prompt != "a: b" {
		t.Errorf("quoted: %v", err)
	}
}

// TestAnEmptyValueUnsetsTheField, whatever it holds: the default takes its place.
func TestAnEmptyValueUnsetsTheField(t *testing.T) {
	file := "name: intro\noutputs: ./elsewhere\nsandbox: {timeout: 5m, isolation: none, env: {A: '1', B: '2'}, models: [./m]}\nserve: [{file: interface.py, name: tools}]\nagent: {command: [run], prompt: go}\n"
	exp, err := parse(file, "outputs=", "sandbox.timeout=", "sandbox.isolation= ", "sandbox.env.A=", "serve.0.name=", "agent.prompt=", "sandbox.models=", "sandbox.gpu=")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := parse("name: intro\nsandbox: {env: {B: '2'}}\nserve: [{file: interface.py}]\nagent: {command: [run]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := exp, plain; a.Outputs != b.Outputs || a.Sandbox.Timeout != b.Sandbox.Timeout || a.Sandbox.Isolation != b.Sandbox.Isolation ||
		a.Serve[0].Name != b.Serve[0].Name || a.Agent.Prompt != "" || len(a.Sandbox.Models) != 0 || len(a.Sandbox.Env) != 1 {
		t.Errorf("got %+v\nand %+v", a, b)
	}
	if _, err := parse("name: x\nagent: {command: [run]}\n", "agent.command="); err == nil || !strings.Contains(err.Error(), "agent.command") {
		t.Errorf("an agent without its only field: %v", err)
	}
	if _, err := parse(file, "agent.prompt=# hi"); err == nil || !strings.Contains(err.Error(), "for a comment; quote it") {
		t.Errorf("a comment: %v", err)
	}
}

func TestThePromptOfAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "task.md")
	if err := os.WriteFile(file, []byte("# Task\n\nkey: value é\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(agent string) (*experiment.Experiment, error) {
		return experiment.Parse([]byte("agent: {command: [run], "+agent+"}"), filepath.Join(dir, "e.yaml"), experiment.LoadOptions{})
	}
	exp, err := read("prompt_file: task.md")
	if err != nil || exp.Agent.Prompt != "# Task\n\nkey: value é" || exp.Agent.PromptFile != file {
		t.Errorf("%+v, %v", exp, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "binary"), []byte("\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.WantErrors(t, func(agent string) error {
		_, err := read(agent)
		return err
	}, map[string]string{
		"prompt_file: none.md":            "e.yaml:1: agent.prompt_file: `" + dir + "/none.md` is not there; relative paths",
		"prompt_file: .":                  "is not a file",
		"prompt_file: binary":             "is not UTF-8 text",
		"prompt_file: task.md, prompt: x": "agent.prompt_file: it cannot stand beside agent.prompt; remove one of the two",
	})
}

func TestOverridesOfTheStagedForm(t *testing.T) {
	exp, err := parse("models: [./m]\n", "sandbox.timeout=1h30m", "sandbox.models.1={name: ./n, var_name: other}")
	if err != nil || exp.Sandbox.Timeout != 90*time.Minute || len(exp.Sandbox.Models) != 2 {
		t.Errorf("got %+v, %v", exp, err)
	}
}

func TestWrongOverrides(t *testing.T) {
	for set, want := range map[string]string{
		"name":                        "override name: expected KEY=VALUE; for example sandbox.timeout=2h",
		"=x":                          "override =x: expected KEY=VALUE",
		"a..b=x":                      "override a..b=x: expected KEY=VALUE",
		"sandbox.modles=[]":           "override sandbox.modles: sandbox: unknown key `modles`; did you mean `models`?",
		"sandbox.gpu_count=many":      "override sandbox.gpu_count: expected an integer, got the string `many`",
		"sandbox.ports=[":             "override sandbox.ports: not valid YAML: ",
		"serve.7.name=x":              "override serve.7.name: `7` is not an index of a list of 1, counted from 0",
		"serve.x.name=x":              "override serve.x.name: `x` is not an index",
		"sandbox.models.0.hidden=1":   "override sandbox.models.0.hidden: item 0 is the string `./m`, not a mapping",
		"name.first=x":                "override name.first: `name` is the string `intro`, not a mapping",
		"sandbox.debug_port=80":       "override sandbox.debug_port: VS Code needs debug: true",
		"serve.0.name=json":           "override serve.0.name: `json` is a module of Python itself",
		"sandbox.env.A.B.C=x":         "override sandbox.env.A.B.C: `sandbox.env.A` is the string `1`, not a mapping",
		"serve.0.options=&a [*a, *a]": "override serve.0.options: ",
	} {
		_, err := parse(base, set)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("--set %s:\n got %v\nwant %s", set, err, want)
		}
	}
}
