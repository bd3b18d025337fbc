package sandboxcmd

import "testing"

// A provider may lead to no port: then the command that works is named.
func TestWayToJupyter(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8888/x/": "seer open lab jupyter, an agent's tools: seer mcp --notebook lab",
		"":                         "seer forward lab jupyter, an agent's tools: seer mcp --notebook lab",
	} {
		if got := nextStep("notebook", "lab", url); got != want {
			t.Errorf("%q: %s", url, got)
		}
	}
}
