package modal_test

import (
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/sdk"
)

func accountOf(t *testing.T, p *modal.Provider) string {
	t.Helper()
	a, err := p.Account(t.Context())
	if err != nil || a.ID == "" {
		t.Fatalf("account %+v, %v", a, err)
	}
	return a.ID
}

// The workspace and the environment are the account. Tokens and other settings are not.
func TestAccount(t *testing.T) {
	rotated := fakemodal.Token{ID: "ak-new", Secret: "as-new"}
	cloud := newCloud(t, fakemodal.Options{Rotated: []fakemodal.Token{rotated}})
	account := accountOf(t, newProvider(t, cloud))
	if other := accountOf(t, newProvider(t, cloud, "snapshot_days", "7", "sandbox_v2", "false", "image_builder_version", "2024.10")); other != account {
		t.Errorf("with other settings it is %s, not %s", other, account)
	}
	if other := accountOf(t, newProvider(t, cloud, "environment", "main")); other != account {
		t.Errorf("the workspace's own environment by its name is %s, not %s", other, account)
	}
	if other := accountOf(t, withToken(t, cloud, rotated)); other != account {
		t.Errorf("with a new token it is %s, not %s", other, account)
	}
	elsewhere := newCloud(t, fakemodal.Options{Workspace: "another"})
	if other := accountOf(t, newProvider(t, elsewhere)); other == account {
		t.Errorf("another workspace is %s, too", other)
	}
	_, err := withToken(t, cloud, fakemodal.Token{ID: "ak-x", Secret: "as-x"}).Account(t.Context())
	testkit.WantCode(t, err, sdk.Unauthorized)
}
