package main_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-ssh/ssh"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "provider-ssh") }

// box is a host that has one machine at most.
type box struct {
	mu   sync.Mutex
	key  string
	used []string
}

func (b *box) Run(_ context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	if name != "me@gpu-box" {
		return host.SSHResult{}, sdk.Errorf(sdk.NotFound, "there is no host %s", name)
	}
	raw, err := io.ReadAll(stdin)
	if err != nil {
		return host.SSHResult{}, err
	}
	out, err := json.Marshal(b.answer(argv, raw))
	if err != nil {
		return host.SSHResult{}, err
	}
	out, err = json.Marshal(sdk.Envelope{OK: out})
	return host.SSHResult{Stdout: out}, err
}

func (b *box) answer(argv []string, raw []byte) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch strings.Join(argv, " ") {
	case "{seer-runtime} provider offers":
		return []sdk.Offer{{ID: "local"}}
	case "{seer-runtime} provider create":
		var in sdk.CreateInput
		_ = json.Unmarshal(raw, &in) // an empty key is seen by the test
		b.key = in.Spec.Key
		return sdk.CreateStep{Handle: "m1"}
	case "{seer-runtime} provider observe":
		if b.key == "" {
			return []sdk.Observation{{Handle: "m1", State: sdk.Stopped}}
		}
		return []sdk.Observation{{Handle: "m1", State: sdk.Running, Endpoints: []sdk.Endpoint{{Port: 8717, URL: "unix:/run/seer/s"}}}}
	case "{seer-runtime} provider list":
		return []sdk.Listed{{Handle: "m1", Key: b.key, Owner: "own-1", State: sdk.Running}}
	case "{seer-runtime} provider terminate":
		b.key = ""
		return struct{}{}
	}
	return nil
}

func (b *box) Used(plugin, host string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.used, host) {
		b.used = append(b.used, host)
	}
	return nil
}

func (b *box) Of(string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.used), nil
}

func TestVersion(t *testing.T) {
	h, p := testprovider.Open(t, "ssh", nil, host.Options{})
	testprovider.WantVersion(t, h, ssh.Version)
	if info, err := p.Describe(t.Context()); err != nil || info.Name != "ssh" || !info.Has(sdk.FeatureRoutes) {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestLifeInTheHost(t *testing.T) {
	b := &box{}
	_, p := testprovider.Open(t, "ssh", map[string]string{"SEER_SSH_HOSTS": "me@gpu-box"}, host.Options{SSH: b, SSHHosts: b})
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{})
	if err != nil || len(offers) != 1 || offers[0].ID != "me@gpu-box/local" {
		t.Fatalf("offers %+v, %v", offers, err)
	}
	spec := sdk.MachineSpec{Key: "seer-a", Owner: "own-1", Isolation: "bubblewrap", Offer: offers[0].ID, Command: []string{"sleep", strings.Repeat("x", 100<<10)}}
	handle := testprovider.Create(t, p, spec)
	if handle != "me@gpu-box/m1" || b.key != spec.Key {
		t.Fatalf("%s has the key %s", handle, b.key)
	}
	if o := testprovider.Await(t, p, handle, sdk.Running); len(o.Endpoints) != 1 || o.Endpoints[0].URL != sdk.RouteURL {
		t.Errorf("observed %+v", o)
	}
	route, err := p.(sdk.Router).Route(t.Context(), handle, 8717)
	if err != nil || route.SSH == nil || route.SSH.Host != "me@gpu-box" || route.SSH.Target != "unix:/run/seer/s" {
		t.Errorf("the way: %+v, %v", route.SSH, err)
	}
	if list, err := p.List(t.Context(), "own-1"); err != nil || len(list) != 1 || list[0].Handle != handle {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Fatal(err)
	}
	testprovider.Await(t, p, handle, sdk.Stopped)
	spec.Offer, spec.Options = "", json.RawMessage(`{"host":"elsewhere"}`)
	_, err = p.Create(t.Context(), spec, nil)
	testkit.WantCode(t, err, sdk.NotFound, "there is no host elsewhere")
}

func TestWithoutSSH(t *testing.T) {
	_, p := testprovider.Open(t, "ssh", map[string]string{"SEER_SSH_HOSTS": "box"}, host.Options{})
	_, err := p.Offers(t.Context(), sdk.OfferQuery{})
	testkit.WantCode(t, err, sdk.Unsupported, "reaches no hosts by SSH")
}

func TestConformance(t *testing.T) { testplugin.Conformance(t, "provider-ssh") }
