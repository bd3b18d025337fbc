package local

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/sdk"
)

// under gives the provider an administrator.
func under(pl *place, rules policy.Policy) {
	rules.File = "/etc/seer/policy.yaml"
	pl.p.Policy = func() (policy.Policy, error) { return rules, nil }
}

func TestTheAdministratorForbidsMachines(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	for want, change := range map[string]func(*sdk.MachineSpec){
		`the network "open" is not allowed`:   func(s *sdk.MachineSpec) { s.Network = "open" },
		`the isolation "none" is not allowed`: func(s *sdk.MachineSpec) { s.Network, s.Isolation = "none", isolation.None },
		`the provider "local" is not allowed`: func(*sdk.MachineSpec) { under(pl, policy.Policy{Providers: []string{"modal"}}) },
	} {
		under(pl, policy.Policy{Networks: []string{"none"}, Isolations: []string{isolation.Bubblewrap}})
		spec := pl.spec("one", isolation.Bubblewrap)
		change(&spec)
		if _, err := pl.p.Create(context.Background(), spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	under(pl, policy.Policy{Isolations: []string{isolation.Bubblewrap}})
	info, err := pl.p.Describe(context.Background())
	forbidden := func(i sdk.Isolation) bool { return i.Name == isolation.None && !i.Usable && i.Reason != "" }
	if err != nil || !slices.ContainsFunc(info.Isolations, forbidden) {
		t.Errorf("%+v, %v", info.Isolations, err)
	}
}

func TestTheAdministratorLimitsGPUs(t *testing.T) {
	pl := newPlace(t)
	withGPUs(pl)
	one := 1
	under(pl, policy.Policy{GPUsPerUser: &one})
	ask := func(key string) sdk.MachineSpec { return pl.wantGPU(key, "H100", isolation.Bubblewrap) }
	first := pl.up(ask("one"))
	if _, err := pl.p.Create(context.Background(), ask("two"), nil); err == nil || !strings.Contains(err.Error(), "gpus_per_user in /etc/seer/policy.yaml") {
		t.Errorf("the second: %v", err)
	}
	first.down()
	pl.up(ask("three")).down()
}
