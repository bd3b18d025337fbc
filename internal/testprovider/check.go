package testprovider

import (
	"maps"
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// WantVersion checks that a host has one plugin, in this version.
func WantVersion(t testing.TB, h *host.Host, version string) {
	t.Helper()
	plugins, errs := h.Plugins(t.Context())
	if len(errs) > 0 || len(plugins) != 1 || plugins[0].Manifest.Version != version {
		t.Errorf("%+v, %v; the package is %s", plugins, errs, version)
	}
}

// WantStates observes machines by one call, and checks the state of each.
func WantStates(t testing.TB, p sdk.Provider, want map[string]sdk.State) {
	t.Helper()
	seen, err := p.Observe(t.Context(), slices.Sorted(maps.Keys(want)))
	states := map[string]sdk.State{}
	for _, o := range seen {
		states[o.Handle] = o.State
	}
	if err != nil || len(seen) != len(want) || !maps.Equal(states, want) {
		t.Errorf("observed %+v, %v; wanted %v", seen, err, want)
	}
}

// Check has a provider look at what stands in the way of a machine, and gives its findings by
// name. All but good ones must say what to do.
func Check(t testing.TB, p sdk.Checker, q sdk.CheckQuery) map[string]sdk.Finding {
	t.Helper()
	found, err := p.Check(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]sdk.Finding{}
	for _, f := range found {
		if byName[f.Name] = f; f.State != sdk.FindingOK && f.Fix == "" {
			t.Errorf("%+v says no fix", f)
		}
	}
	return byName
}
