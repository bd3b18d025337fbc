package python_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/python"
)

// The joined file stands alone: it imports nothing of ours and can be imported from
// anywhere.
func TestClientIsOneFile(t *testing.T) {
	text := python.Client()
	if left := regexp.MustCompile(`(?m)^(from|import) (\.|seer).*$`).FindAll(text, -1); len(left) > 0 {
		t.Errorf("imports of its parts are left: %q", left)
	}
	cmd := exec.CommandContext(t.Context(), interpreter(), "-I", "-B", "-W", "error", "-c",
		"import sys, types; m = types.ModuleType('client'); exec(sys.stdin.read(), m.__dict__); print(*m.__all__)")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "CallError") || !strings.Contains(string(out), "Library") {
		t.Fatalf("%v\n%s", err, out)
	}
}
