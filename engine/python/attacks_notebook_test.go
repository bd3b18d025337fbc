package python_test

import (
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testbuild"
)

// TestAttacksOnPages makes attacks on a person's browser that looks at a sandbox's
// Jupyter. tests/notebook/attacks.py has the code; it starts a real server for each.
func TestAttacksOnPages(t *testing.T) {
	t.Parallel()
	interpreter := testbuild.Jupyter(t)
	try := func(name string) func(t *testing.T, defended bool) error {
		return inPythonOf(interpreter, "tests/notebook/attacks.py", name)
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
