package files

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/snapshot"
)

// TestASnapshotKeepsItsIsolationAndNetwork as long as the experiment names no other.
func TestASnapshotKeepsItsIsolationAndNetwork(t *testing.T) {
	for _, c := range []struct{ provider, isolation, network, text, want string }{
		{"local", "gvisor", "none", "sandbox: {timeout: 10m}", "gvisor none"},
		{"local", "none", "open", "name: x", "none open"},
		{"local", "bubblewrap", "pypi.org 10.0.0.1", "name: x", "bubblewrap hosts pypi.org 10.0.0.1"},
		{"local", "gvisor", "none", "sandbox: {provider: local, isolation: bubblewrap}", "bubblewrap none"},
		{"local", "gvisor", "none", "sandbox: {isolation: auto, network: open}", "auto open"},
		{"local", "none", "open", "sandbox: {network: none}", "auto none"}, // none of both would not be possible
		{"local", "bubblewrap", "", "name: x", "bubblewrap open"},          // of an older version
		{"modal", "", "", "name: x", "auto open"},
		{"local", "gvisor", "none", "sandbox: {provider: modal}", "auto open"},
		{"local", "gvisor", "none", "sandbox: {gpu: H100}", "auto open"},
	} {
		exp, err := experiment.Parse([]byte(c.text), "e.yaml", experiment.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		saved := snapshot.Snapshot{Meta: snapshot.Meta{Provider: c.provider, Isolation: c.isolation, Labels: map[string]string{"network": c.network}}}
		like, _ := inherit(exp, saved)
		s := like.Sandbox
		if got := strings.Join(append([]string{s.Isolation, s.Network}, s.NetworkHosts...), " "); got != c.want {
			t.Errorf("%s from one of %s %s with %s: %s, want %s", c.text, c.provider, c.isolation, c.network, got, c.want)
		}
		if s := like.Sandbox; s.Network == "hosts" && NetworkLabel(s) != c.network {
			t.Errorf("its own label is %q", NetworkLabel(s))
		}
	}
}
