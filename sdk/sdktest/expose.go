package sdktest

import (
	"encoding/json"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// ExposeKit says how to try an expose mode.
type ExposeKit struct {
	Open func() sdk.Exposer // called often: Seer runs several instances, and none has a memory

	// Options are sets of options that the mode knows; each is tried with every
	// interface. None at all is always tried.
	Options []json.RawMessage
	// Permissions are those of the manifest: what a surface may contain.
	Permissions sdk.Permissions
	// Check looks at a surface more closely, such as whether a program that was made
	// compiles. Optional.
	Check func(sdk.ExposeRequest, sdk.Surface) error

	Quick bool // purity is tried with fewer goroutines
}

// Expose tries an expose mode in a test of its own for each check.
func Expose(t *testing.T, k ExposeKit) {
	t.Helper()
	test(t, ExposeChecks(k))
}
