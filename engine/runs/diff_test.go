package runs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/runs"
)

// call is a line of a record of calls.
type call struct {
	function string
	args     []any
	result   any
}

// recorded makes a run with files and a record of calls.
func recorded(t *testing.T, id, version string, made []event.Data, files map[string]string, calls []call) *runs.Run {
	t.Helper()
	f, send := create(t, t.TempDir(), id, noon)
	send(event.RunStarted{Experiment: "probe", Version: version, SHA256: "5ee2"}, event.AgentProgram{Provider: "claude", Version: version})
	send(made...)
	send(event.RunEnded{State: "finished"})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lines := ""
	for i, c := range calls {
		arguments, err := value.Arguments(c.args, map[string]any{"seed": 7})
		if err != nil {
			t.Fatal(err)
		}
		result, err := value.Encode(c.result)
		if err != nil {
			t.Fatal(err)
		}
		lines += fmt.Sprintf(`{"id":"c%d","service":"tools","function":%q,"seconds":1.5,"state":"done","arguments":%q,"result":%q}`+"\n", i, c.function, body(t, f.Path(), arguments), body(t, f.Path(), result))
	}
	files["record/calls.jsonl"] = lines
	for name, text := range files {
		path := filepath.Join(f.Path(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, f.Path())
}

// body writes a value of the record and returns its hash.
func body(t *testing.T, dir string, v value.Value) string {
	t.Helper()
	hash, err := v.Hash()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := v.WriteCanonical(&text); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "record", "bodies", hash[:2], hash)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestDiff(t *testing.T) {
	made := func(revision, torch string) []event.Data {
		return []event.Data{
			event.RunPlugin{ID: "org.source", Version: "1", SHA256: "ab"}, event.RunCode{Name: "tools", CodeHash: "c1"},
			event.RunModel{Name: "org/m", Source: "hf", Revision: revision}, event.RunModel{Hidden: true, Source: "hf", Revision: "9"},
			event.RunPackages{Sandbox: "sb-" + revision, Python: "3.12.1", Packages: []event.Package{{Name: "torch", Version: torch, SHA256: "cd"}, {Name: "tar", Version: "1", System: true}}},
		}
	}
	a := recorded(t, "run-aa00000000000001", "1", made("1", "2.9.0"), map[string]string{
		runs.ResolvedName: `{"agent":{"model":"m","steps":[1,2,3,4,5,6,7,8,9,10,11]},"same":true}`, runs.PromptName: "one\ntwo\n",
	}, []call{{"score", []any{3}, 0.5}, {"score", []any{3}, 0.5}, {"probe", []any{"x"}, map[string]any{"acc": 0.75, "n": 4, "note": "fine"}}})
	b := recorded(t, "run-bb00000000000002", "1", made("2", "2.9.1"), map[string]string{
		runs.ResolvedName: `{"agent":{"model":"n","steps":[1,2,3,4,5,6,7,8,9,10,12]},"same":true}`, runs.PromptName: "one\nthree\n",
	}, []call{{"score", []any{3}, 0.5}, {"probe", []any{"x"}, map[string]any{"acc": 0.80, "n": 4, "note": "fine"}}, {"other", nil, 1}})
	d, err := runs.Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	prompt := ""
	var got []string
	for _, c := range d.Changes {
		if c.Part == runs.PartPrompt {
			prompt = c.Text
			continue
		}
		got = append(got, fmt.Sprintf("%s %s: %s → %s", c.Part, c.Name, c.A, c.B))
	}
	want := []string{
		"experiment agent.model: m → n", "experiment agent.steps.10: 11 → 12", "models org/m: hf 1 → hf 2", "packages torch: 2.9.0 cd → 2.9.1 cd",
		"results tools.score(3, seed=7) #2: 0.5 → ", `results tools.probe("x", seed=7) acc: 0.75 → 0.8`, "results tools.other(seed=7):  → 1",
		"calls tools.score: 2 → 1", "calls tools.other:  → 1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !reflect.DeepEqual(d.Same, []string{"seer", "plugins", "code", "agent"}) || !strings.Contains(prompt, "\n-two\n+three\n") {
		t.Errorf("same: %v; prompt %q", d.Same, prompt)
	}
	if d, err := runs.Diff(a, a); err != nil || len(d.Changes) != 0 || len(d.Same) != 10 {
		t.Errorf("with itself: %+v, %v", d, err)
	}
	calls, err := a.Calls()
	if f := runs.ByFunction(calls); err != nil || len(f) != 2 || f[1].Name != "tools.score" || f[1].Calls != 2 || f[1].Seconds != 3 || f[1].Longest != 1.5 || f[1].States["done"] != 2 {
		t.Errorf("by function: %+v, %v", f, err)
	}
}
