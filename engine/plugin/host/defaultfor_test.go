package host_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
)

func TestDefaultFor(t *testing.T) {
	for text, want := range map[string]string{
		"implements: [provider/1]\nprovides: [x]\ndefault_for: [gpu]\n": "",
		"implements: [provider/1]\nprovides: [x]\ndefault_for: [tpu]\n": "default_for: \"tpu\" is not known; there is gpu",
		"implements: [fetcher/1]\nprovides: [x]\ndefault_for: [gpu]\n":  "default_for: is for providers",
	} {
		m, err := host.CheckManifest("x.yaml", []byte("id: a-b\nversion: 1.0.0\n"+text))
		if want == "" && (err != nil || len(m.DefaultFor) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), "x.yaml:5: "+want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
