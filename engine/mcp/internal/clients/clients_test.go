package clients

import (
	"testing"
	"time"
)

func TestClientsAreWaitedForAsLongAsTheyWait(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"codex-mcp-client": 45 * time.Second, "claude-code": 4 * time.Minute, "Gemini-CLI-mcp-client": 4 * time.Minute, "opencode": 20 * time.Second, "new": DefaultWait,
	} {
		if got := HabitsOfName(name).Wait; got != want {
			t.Errorf("%s is waited for %v, want %v", name, got, want)
		}
	}
}
