package sandboxcmd

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/machine"
)

// Where a plugin has gone, waiting does not help, and what does is said.
func TestGCAdvice(t *testing.T) {
	t.Parallel()
	known := func(provider string) bool { return provider == "local" || provider == "busy" }
	for _, tc := range []struct {
		providers []string
		want      string
	}{
		{[]string{"busy"}, "run seer gc again later"},
		{[]string{"local", "gone", "gone"}, "no plugin here provides gone: run seer gc again with --plugin-dir FOLDER"},
		{[]string{"lost", "gone", ""}, "no plugin here provides gone, lost: "},
	} {
		var failed []machine.GCItem
		for _, p := range tc.providers {
			failed = append(failed, machine.GCItem{Provider: p})
		}
		err := gcFailure(machine.GCReport{Failed: failed}, known)
		if err == nil || !strings.HasPrefix(err.Error(), "something could not be cleaned up; "+tc.want) {
			t.Errorf("%q: %v", tc.providers, err)
		}
	}
	if err := gcFailure(machine.GCReport{}, known); err != nil {
		t.Error(err)
	}
}
