// Package testprovider drives providers in tests: as native code, or as a plugin in the real
// host.
package testprovider

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
)

// Open returns the built-in plugin provider-NAME in a host that grants everything. Its
// variables are those of env, which may change later.
func Open(t testing.TB, name string, env map[string]string, o host.Options) (*host.Host, sdk.Provider) {
	t.Helper()
	h := testplugin.Open(t, "provider-"+name, env, o)
	p, err := h.Provider(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return h, p
}

// maxSteps is more than a machine takes.
const maxSteps = 300

// Steps calls Create from the cursor on until there is a handle, and returns what the
// provider has logged. It calls between, which may be nil, after each unfinished step.
func Steps(t testing.TB, p sdk.Provider, spec sdk.MachineSpec, cursor json.RawMessage, between func(sdk.CreateStep)) (handle string, log []string, err error) {
	t.Helper()
	for range maxSteps {
		step, err := p.Create(t.Context(), spec, cursor)
		if err != nil {
			return "", log, err
		}
		log = append(log, step.Log...)
		if step.Handle != "" {
			return step.Handle, log, nil
		}
		if len(step.Cursor) == 0 || len(step.Cursor) > 16<<10 {
			t.Fatalf("a step with neither a handle nor a small cursor: %d bytes", len(step.Cursor))
		}
		cursor = step.Cursor
		if between != nil {
			between(step)
		}
	}
	t.Fatalf("no handle after %d steps", maxSteps)
	return "", nil, nil
}

// Create returns the handle of a new machine.
func Create(t testing.TB, p sdk.Provider, spec sdk.MachineSpec) string {
	t.Helper()
	handle, log, err := Steps(t, p, spec, nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
	}
	return handle
}

// Observe observes one machine.
func Observe(t testing.TB, p sdk.Provider, handle string) sdk.Observation {
	t.Helper()
	all, err := p.Observe(t.Context(), []string{handle})
	if err != nil || len(all) != 1 || all[0].Handle != handle {
		t.Fatalf("observe: %v, %v", all, err)
	}
	return all[0]
}

// Await observes a machine until it is in the state.
func Await(t testing.TB, p sdk.Provider, handle string, state sdk.State) sdk.Observation {
	t.Helper()
	var o sdk.Observation
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if o = Observe(t, p, handle); o.State == state {
			return o
		}
	}
	t.Fatalf("the machine did not become %s but is %s: %s", state, o.State, o.Message)
	return o
}
