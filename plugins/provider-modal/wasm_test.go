package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "provider-modal") }

// plugin is the built-in plugin in the real host, with the fake's token.
func plugin(t *testing.T, cloud *fakemodal.Cloud, change map[string]string, limits ...host.Limits) (*host.Host, sdk.Provider) {
	t.Helper()
	env := cloud.Env()
	for name, value := range change {
		env[name] = value
	}
	o := host.Options{}
	if len(limits) > 0 {
		o.Limits = limits[0]
	}
	return testprovider.Open(t, "modal", env, o)
}

func newCloud(t *testing.T, o fakemodal.Options) *fakemodal.Cloud {
	t.Helper()
	o.Dir, o.Grace = t.TempDir(), 100*time.Millisecond
	o.Token = fakemodal.Token{ID: "ak-trial-0123456789", Secret: "as-trial-9876543210"}
	cloud := fakemodal.New(o)
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	return cloud
}

func newSpec(key, gpu string) sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: key, Owner: "owner-1", Command: []string{"python3", "-c", "import time; time.sleep(600)"}, Env: map[string]string{"TRIAL": "1"},
		Port: 8000, GPU: gpu, TimeoutSeconds: 600, EndUnix: time.Now().Add(10 * time.Minute).Unix(),
		Image: &sdk.Image{PythonPackages: []string{"numpy"}},
	}
}

func TestLifeInTheHost(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	h, p := plugin(t, cloud, nil)
	for _, gpu := range []string{"", "H100!"} {
		offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: gpu})
		if err != nil || len(offers) != 1 {
			t.Fatalf("offers %v, %v", offers, err)
		}
		spec := newSpec("seer-wasm-"+offers[0].ID[:1], gpu)
		handle := testprovider.Create(t, p, spec)
		if again := testprovider.Create(t, p, spec); again != handle {
			t.Errorf("one key gave %s and %s", handle, again)
		}
		if o := testprovider.Await(t, p, handle, sdk.Running); len(o.Endpoints) != 1 || o.CostPerHour == 0 {
			t.Errorf("observed %+v", o)
		}
		list, err := p.List(t.Context(), "owner-1")
		if err != nil || len(list) != 1 || list[0].Handle != handle || list[0].EndUnix != spec.EndUnix {
			t.Errorf("listed %+v, %v", list, err)
		}
		snapshotAndStart(t, p, handle, spec)
		if err := p.Terminate(t.Context(), handle); err != nil {
			t.Fatal(err)
		}
		testprovider.Await(t, p, handle, sdk.Stopped)
	}
	for _, secret := range []string{"ak-trial-0123456789", "as-trial-9876543210"} {
		if h.Holds([]byte(secret)) {
			t.Errorf("the plugin holds the user's %s", secret[:2])
		}
	}
}

func snapshotAndStart(t *testing.T, p sdk.Provider, handle string, spec sdk.MachineSpec) {
	t.Helper()
	step, err := p.(sdk.Snapshotter).Snapshot(t.Context(), handle, "copy-1", nil)
	if err != nil || step.Image == "" {
		t.Fatalf("snapshot %+v, %v", step, err)
	}
	spec.Key += "-2"
	spec.Image = &sdk.Image{Snapshot: step.Image}
	second := testprovider.Create(t, p, spec)
	testprovider.Await(t, p, second, sdk.Running)
	if err := p.Terminate(t.Context(), second); err != nil {
		t.Fatal(err)
	}
}

func TestTokensInTheHost(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	_, p := plugin(t, cloud, map[string]string{"MODAL_TOKEN_SECRET": "as-of-somebody-else"})
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{}); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("with a wrong token: %v", err)
	}
	_, p = plugin(t, cloud, map[string]string{"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": ""})
	if info, err := p.Describe(t.Context()); err != nil || info.Name != "modal" {
		t.Errorf("describing needs no token: %+v, %v", info, err)
	}
	_, err := p.Offers(t.Context(), sdk.OfferQuery{})
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "MODAL_TOKEN_ID") || !strings.Contains(err.Error(), "OAuth") || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("without a token: %v", err)
	}
}

func TestCancelledInTheHost(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	_, p := plugin(t, cloud, nil)
	handle := testprovider.Create(t, p, newSpec("seer-wasm-cancel", ""))
	if err := cloud.SetFaults(fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "*", Hang: true}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := p.Observe(ctx, []string{handle}); err == nil {
		t.Error("a call that the engine gave up has a result")
	}
	if err := cloud.SetFaults(fakemodal.Faults{}); err != nil {
		t.Fatal(err)
	}
	testprovider.Await(t, p, handle, sdk.Running)
}

// A creation may take longer than the host gives other calls.
func TestLongStepInTheHost(t *testing.T) {
	for limit := 2 * time.Second; ; limit *= 4 {
		cloud := newCloud(t, fakemodal.Options{})
		if err := cloud.SetFaults(fakemodal.Faults{StartDelay: limit + time.Second, DropsLeft: true}); err != nil {
			t.Fatal(err)
		}
		_, p := plugin(t, cloud, nil, host.Limits{CallTime: limit})
		err := createSlowly(t, p)
		if err == nil {
			return
		}
		if limit > time.Minute || !strings.Contains(err.Error(), "provider_describe took longer") { // a busy computer
			t.Fatal(err)
		}
	}
}

func createSlowly(t *testing.T, p sdk.Provider) error {
	if _, err := p.Describe(t.Context()); err != nil {
		return err
	}
	spec := newSpec("seer-wasm-long", "")
	spec.Image = nil
	_, _, err := testprovider.Steps(t, p, spec, nil, nil)
	return err
}
