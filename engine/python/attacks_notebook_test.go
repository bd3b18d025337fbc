package python_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testbuild"
)

// TestAttacksOnPages makes attacks on a person's browser that looks at a sandbox's
// Jupyter. tests/notebook/attacks.py has the code; it makes all of them at once, so that
// several share a real server.
func TestAttacksOnPages(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), testbuild.Jupyter(t), "-B", "tests/notebook/attacks.py")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var results map[string]struct{ Defended, Open string }
	if err == nil {
		err = json.Unmarshal(out, &results)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.Bytes())
	}
	try := func(name string) func(t *testing.T, defended bool) error {
		return func(_ *testing.T, defended bool) error {
			text := results[name].Open
			if defended {
				text = results[name].Defended
			}
			return attack.Outcome(text)
		}
	}
	attack.Run(t, []attack.Row{
		{Name: "cookies-of-a-neighbours-jupyter", Want: "sends no cookie", Try: try("cookies")},
		{Name: "request-of-another-site-with-cookies", Want: "SameSite=Strict", Try: try("cross site")},
		{Name: "domain-that-leads-to-jupyter", Want: "status 404", Try: try("rebinding")},
		{Name: "scripts-of-agents-outputs", Want: "is not trusted", Try: try("scripts")},
		{Name: "collected-notebook-that-is-trusted", Want: "is not signed", Try: try("collected")},
		{Name: "notebook-behind-a-link", Want: "must lie in", Try: try("through a link")},
		{Name: "kernel-sockets-for-other-users", Want: "mode 700", Try: try("sockets")},
		{Name: "html-file-of-a-sandbox", Want: "sandbox", Try: try("page")},
	})
}
