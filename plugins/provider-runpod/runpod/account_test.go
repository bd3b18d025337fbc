package runpod_test

import (
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// The user is the account, whichever of the keys is used.
func TestAccount(t *testing.T) {
	r := newRig(t, func(o *fakerunpod.Options) { o.Keys = []string{"rpa_old", "rpa_new"} })
	first, err := r.Account(t.Context())
	if err != nil || first.ID == "" {
		t.Fatalf("account %+v, %v", first, err)
	}
	r.key = "rpa_new"
	if second, err := r.Account(t.Context()); err != nil || second != first {
		t.Errorf("with a new key it is %+v, %v, not %+v", second, err, first)
	}
	if other, err := newRig(t).Account(t.Context()); err != nil || other == first {
		t.Errorf("another user is %+v, too: %v", other, err)
	}
	r.Inject(fakerunpod.Fault{Path: "/graphql", Status: 403, Detail: "this key may not ask"})
	_, err = r.Account(t.Context())
	testkit.WantCode(t, err, sdk.Unauthorized)
}
