package python_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
)

// TestAttacksOnCalls makes attacks on a worker's limits: tests/attacks.py has the code, which
// switches a defence off by replacing a private attribute.
func TestAttacksOnCalls(t *testing.T) {
	t.Parallel()
	attack.Run(t, []attack.Row{
		{Name: "views-of-released-arrays", Want: "handles hold", Try: inPython("views")},
		{Name: "views-inside-lists", Want: "handles hold", Try: inPython("views in lists")},
		{Name: "handle-filled-later", Want: "is gone", Try: inPython("box")},
		{Name: "text-that-a-pattern-never-ends-on", Want: "answered at once", Try: inPython("backtracking")},
		{Name: "call-of-another-token-by-name", Want: "that of another token's call", Try: inPython("by name")},
		{Name: "call-of-another-token-attached", Want: "that of another token's call", Try: inPython("by attaching")},
		{Name: "call-of-another-token-after-a-restart", Want: "that of another token's call", Try: inPython("after a restart")},
		{Name: "call-of-another-token-cancelled", Want: "it went on", Try: inPython("cancelled")},
		{Name: "arguments-that-never-end", Want: "the worker holds", Try: inPython("unfinished")},
		{Name: "digits-of-another-script", Want: "must match the pattern", Try: inPython("digits")},
	})
}

func inPython(name string) func(t *testing.T, defended bool) error {
	return inPythonOf(interpreter(), "tests/attacks.py", name)
}

func inPythonOf(program, script, name string) func(t *testing.T, defended bool) error {
	return func(t *testing.T, defended bool) error {
		mode := "open"
		if defended {
			mode = "defended"
		}
		cmd := exec.CommandContext(t.Context(), program, "-B", script, name, mode)
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, text)
		}
		return attack.Outcome(text)
	}
}
