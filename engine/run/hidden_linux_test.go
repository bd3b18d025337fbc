package run_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestAttacksHidden puts a hidden model's name where the agent of a run is, beside the
// sandbox.
func TestAttacksHidden(t *testing.T) {
	const refused = "the name of a hidden model can be found"
	attack.Run(t, []attack.Row{
		{Name: "hidden-name-in-agents-folder", Isolation: "bubblewrap", Want: refused, Try: func(t *testing.T, defended bool) error {
			return readByAgent(t, defended, "workspace", map[string]string{"workspace/notes.txt": "of Quagmire"}, "cat notes.txt")
		}},
		{Name: "hidden-name-in-path-of-agents-folder", Isolation: "bubblewrap", Want: refused, Try: func(t *testing.T, defended bool) error {
			return readByAgent(t, defended, "quagmire/work", nil, "cat /proc/self/mountinfo")
		}},
	})
}

// readByAgent runs an agent that reads the name of a hidden model by a command.
func readByAgent(t *testing.T, defended bool, space string, files map[string]string, command string) error {
	t.Helper()
	e, exp := setup(t, fmt.Sprintf("import os; os.system(%q)", command), "\nsandbox: {execution_mode: cli, network: none, models: [{name: ./quagmire-9b, hidden: true}]}\n")
	exp.Agent.Isolation, exp.Serve = "bubblewrap", nil
	dir := filepath.Dir(exp.File)
	exp.Workspace.Dir, exp.Workspace.NoPreload = filepath.Join(dir, space), true
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	testkit.WriteFiles(t, filepath.Join(dir, "quagmire-9b"), map[string]string{
		"config.json":       `{"model_type": "llama"}`,
		"model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "four",
	})
	testkit.WriteFiles(t, dir, files)
	var out bytes.Buffer
	o := run.Options{Stdout: &out, Seer: "/bin/true"}
	if !defended {
		o = run.Unguarded(o)
	}
	_, err := run.Run(t.Context(), e, exp, o)
	var found *engine.HiddenError
	switch {
	case errors.As(err, &found):
		return err
	case err != nil:
		t.Fatal(err)
	case !strings.Contains(strings.ToLower(out.String()), "quag"+"mire"):
		return fmt.Errorf("the agent read %q", out.String())
	}
	return nil
}
