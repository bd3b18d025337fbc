package local

import (
	"strings"
	"testing"
)

func TestSavedProcessesDoNotFit(t *testing.T) {
	here := hostNote{Arch: "amd64", Features: []string{"avx", "avx2", "sse"}, GVisor: "v2"}
	for want, saved := range map[string]hostNote{
		"":             {Arch: "amd64", Features: []string{"avx", "sse"}, GVisor: "v2"},
		"lacks amx, x": {Arch: "amd64", Features: []string{"amx", "avx", "x"}, GVisor: "v2"},
		"gVisor v1":    {Arch: "amd64", GVisor: "v1"},
		"on arm64":     {Arch: "arm64", GVisor: "v2"},
	} {
		if got := saved.refuses(here); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
