package run_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "record-names-the-experiment", Want: "no run of yours", Try: namedByRecord},
		{Name: "record-was-changed", Want: "was changed since the run", Try: changedRecord},
		{Name: "replay-runs-unconfined", Want: "nothing would confine it", Try: unconfinedReplay},
	})
}

// stranger makes what somebody sends: an experiment whose agent writes a file at marker,
// and a record of a run of it.
func stranger(t *testing.T, exp *experiment.Experiment, marker string) (outputs, file string) {
	t.Helper()
	dir := t.TempDir()
	outputs, file = filepath.Join(dir, "outputs"), filepath.Join(dir, "seer.yaml")
	testkit.WriteFiles(t, dir, map[string]string{
		"seer.yaml":                    "name: t\nserve: [{file: interface.py, name: tools}]\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py], isolation: none, network: open}\n",
		"interface.py":                 "",
		"agent.py":                     fmt.Sprintf("open(%q, 'w').write('here')", marker),
		"outputs/record/calls.jsonl":   "",
		"outputs/record/bodies/.empty": "",
		"outputs/run.json":             fmt.Sprintf(`{"experiment": "t", "file": %q}`, file),
	})
	copyFile(t, filepath.Join(exp.Outputs, "record/services/tools.json"), filepath.Join(outputs, "record/services/tools.json"))
	return outputs, file
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	testkit.WriteFiles(t, filepath.Dir(to), map[string]string{filepath.Base(to): string(data)})
}

// ranOnce makes a run of the user's own, whose record has a call.
func ranOnce(t *testing.T) (*engine.Engine, *experiment.Experiment) {
	t.Helper()
	e, exp := setup(t, "import tools; print(tools.twice(4))", "")
	result, err := run.Run(t.Context(), e, exp, run.Options{})
	if err != nil || result.ExitCode != 0 {
		t.Fatal(result, err)
	}
	exp.Outputs = result.Folder // where its record is
	return e, exp
}

// replayed replays what a record names, as the program seer does.
func replayed(t *testing.T, e *engine.Engine, outputs, file string, o run.Options, defended bool) (string, error) {
	t.Helper()
	var out bytes.Buffer
	o.Stdout, o.Stderr = &out, &out
	experimentOf := run.ExperimentOf
	if !defended {
		experimentOf, o = run.UnguardedExperimentOf, run.Unguarded(o)
	}
	var err error
	if file == "" {
		if file, err = experimentOf(e, outputs); err != nil {
			return "", err
		}
	}
	exp, err := experiment.Load(t.Context(), file, experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	exp.Outputs = filepath.Join(outputs, "replay")
	folder, err := run.Recorded(outputs)
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Replay(t.Context(), e, exp, folder, o)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("the agent ended with %d: %s", result.ExitCode, &out)
	}
	return out.String(), err
}

func namedByRecord(t *testing.T, defended bool) error {
	e, own := ranOnce(t)
	marker := filepath.Join(t.TempDir(), "marker")
	outputs, _ := stranger(t, own, marker)
	if _, err := replayed(t, e, outputs, "", run.Options{}, defended); err != nil {
		return err
	}
	_, err := os.Stat(marker)
	return err
}

func unconfinedReplay(t *testing.T, defended bool) error {
	e, own := ranOnce(t)
	marker := filepath.Join(t.TempDir(), "marker")
	outputs, file := stranger(t, own, marker)
	if _, err := replayed(t, e, outputs, file, run.Options{}, defended); err != nil {
		return err
	}
	_, err := os.Stat(marker)
	return err
}

// changedRecord gives the user's own agent answers that no function gave.
func changedRecord(t *testing.T, defended bool) error {
	e, own := ranOnce(t)
	calls := filepath.Join(own.Outputs, "record/calls.jsonl")
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var call map[string]any
	if err := json.Unmarshal(bytes.SplitN(data, []byte("\n"), 2)[0], &call); err != nil {
		t.Fatal(err)
	}
	body := filepath.Join(own.Outputs, "record/bodies")
	sum := sha256.Sum256([]byte("666"))
	evil := hex.EncodeToString(sum[:])
	testkit.WriteFiles(t, filepath.Join(body, evil[:2]), map[string]string{evil: "666"})
	call["result"] = evil
	if data, err = json.Marshal(call); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(calls, append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := replayed(t, e, own.Outputs, "", run.Options{}, defended)
	if err == nil && !strings.Contains(out, "666") {
		err = fmt.Errorf("the agent got %q", out)
	}
	return err
}

// TestReplaysOfStrangers tries the ways by which a record could name, or be, something else.
func TestReplaysOfStrangers(t *testing.T) {
	t.Parallel()
	e, own := ranOnce(t)
	marker := filepath.Join(t.TempDir(), "marker")
	outputs, file := stranger(t, own, marker)
	refused := func(what string) {
		t.Helper()
		if _, err := run.ExperimentOf(e, outputs); engine.KindOf(err) != engine.KindUntrusted && !strings.Contains(fmt.Sprint(err), run.ErrNoFile.Error()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{own.File, "seer.yaml", "../seer.yaml", "outputs/../seer.yaml", "/etc/passwd", "/proc/self/environ", ""} {
		testkit.WriteFiles(t, outputs, map[string]string{"run.json": fmt.Sprintf(`{"experiment": "t", "file": %q}`, name)})
		refused(name)
	}
	// What the user's own run has written leads to the record that it was written for only.
	copyFile(t, filepath.Join(own.Outputs, "run.json"), filepath.Join(outputs, "run.json"))
	refused("the run.json of another record")
	if err := os.Remove(filepath.Join(outputs, "run.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(own.Outputs, "run.json"), filepath.Join(outputs, "run.json")); err != nil {
		t.Fatal(err)
	}
	refused("a link")

	// Confined, it runs, and reaches nothing; unconfined only if the user says so twice.
	if _, err := replayed(t, e, outputs, file, run.Options{Isolation: isolation.Bubblewrap}, true); err == nil {
		t.Error("the confined agent wrote outside")
	}
	if _, err := replayed(t, e, outputs, file, run.Options{Isolation: isolation.None}, true); engine.KindOf(err) != engine.KindUntrusted || !strings.Contains(err.Error(), "python3 agent.py") {
		t.Errorf("not confirmed: %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the agent of the record ran on this computer")
	}
}

// A value that is not what its name says is no answer.
func TestReplayOfChangedValue(t *testing.T) {
	t.Parallel()
	e, own := ranOnce(t)
	values, err := filepath.Glob(filepath.Join(own.Outputs, "record/bodies/*/*"))
	if err != nil || len(values) == 0 {
		t.Fatal(values, err)
	}
	for _, path := range values {
		if err := os.WriteFile(path, []byte("666"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := replayed(t, e, own.Outputs, "", run.Options{}, true); !strings.Contains(fmt.Sprint(err), "changed since it was recorded") || strings.Contains(out, "666\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// A run of an earlier version is known by its run.json, with or without a log.
func TestReplayOfOlderRun(t *testing.T) {
	t.Parallel()
	e, own := ranOnce(t)
	log := filepath.Join(own.Outputs, "events.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	remember := func() {
		data, err := os.ReadFile(filepath.Join(own.Outputs, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if err := e.Replays().RememberRecord(hex.EncodeToString(sum[:]), own.Outputs); err != nil {
			t.Fatal(err)
		}
	}
	for _, older := range []func() error{
		func() error {
			return os.WriteFile(log, bytes.ReplaceAll(text, []byte(`"kind":"service"`), []byte(`"kind":"other"`)), 0o600)
		},
		func() error { return os.Remove(log) },
	} {
		if err := older(); err != nil {
			t.Fatal(err)
		}
		if out, err := replayed(t, e, own.Outputs, "", run.Options{}, true); engine.KindOf(err) != engine.KindUntrusted {
			t.Errorf("not known yet: %q, %v", out, err)
		}
	}
	remember()
	if out, err := replayed(t, e, own.Outputs, "", run.Options{}, true); err != nil || out != "8\n" {
		t.Errorf("%q, %v", out, err)
	}
	if err := os.WriteFile(log, bytes.ReplaceAll(text, []byte(`"kind":"service"`), []byte(`"kind":"other"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := replayed(t, e, own.Outputs, "", run.Options{}, true); err != nil || out != "8\n" {
		t.Errorf("with a log: %q, %v", out, err)
	}
}

// The log says which experiment a run was made from, and what its record was; run.json does not count.
func TestReplayReadsTheLog(t *testing.T) {
	t.Parallel()
	e, own := ranOnce(t)
	if err := os.Remove(filepath.Join(own.Outputs, "run.json")); err != nil {
		t.Fatal(err)
	}
	if out, err := replayed(t, e, own.Outputs, "", run.Options{}, true); err != nil || out != "8\n" {
		t.Errorf("%q, %v", out, err)
	}
	service := filepath.Join(own.Outputs, "record/services/tools.json")
	face, err := os.ReadFile(service)
	if err != nil {
		t.Fatal(err)
	}
	const evil = `{"seq":1,"time":"2026-11-28T05:30:41Z","run":"run-1","source":"engine","type":"run.started","data":{"experiment":"t","file":"/evil.yaml"}}` + "\n"
	for _, change := range []struct{ name, text, want string }{
		{"record/services/tools.json", "{}", "was changed since the run"},
		{"record/services/other.json", "{}", "was changed since the run"},
		{"record/calls.jsonl", "", "was changed since the run"},
		{"events.jsonl", evil, "no run of yours"},
	} {
		testkit.WriteFiles(t, own.Outputs, map[string]string{change.name: change.text})
		if _, err := run.ExperimentOf(e, own.Outputs); engine.KindOf(err) != engine.KindUntrusted || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: %v", change.name, err)
		}
		testkit.WriteFiles(t, own.Outputs, map[string]string{"record/services/tools.json": string(face)})
		_ = os.Remove(filepath.Join(own.Outputs, "record/services/other.json"))
	}
}

// A user's own run is replayed without a question, from wherever its outputs are.
func TestReplayOfOwnRun(t *testing.T) {
	t.Parallel()
	e, own := ranOnce(t)
	moved := filepath.Join(t.TempDir(), "moved *[é]")
	if err := os.Rename(own.Outputs, moved); err != nil {
		t.Fatal(err)
	}
	if out, err := replayed(t, e, moved, "", run.Options{}, true); err != nil || out != "8\n" {
		t.Errorf("%q, %v", out, err)
	}
}
