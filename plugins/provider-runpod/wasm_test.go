package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk"
)

const key = "rpa_TRIAL0123456789"

func TestMain(m *testing.M) { testplugin.Main(m, "provider-runpod") }

func newCloud(t *testing.T, o fakerunpod.Options) *fakerunpod.Cloud {
	t.Helper()
	o.Dir, o.Keys, o.Python = t.TempDir(), []string{key}, "/usr/bin/python3"
	o.Delays.Stop = 50 * time.Millisecond
	cloud, err := fakerunpod.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return cloud
}

// plugin is the built-in plugin in the real host.
func plugin(t *testing.T, env map[string]string, home string) (*host.Host, sdk.Provider) {
	t.Helper()
	return testprovider.Open(t, "runpod", env, host.Options{Home: home})
}

func newSpec(name string) sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: "seer-" + name, Owner: "own-1", Command: []string{"sleep", "600"}, Env: map[string]string{"TRIAL": "1"},
		Port: 8000, TimeoutSeconds: 600, EndUnix: 1900000000,
	}
}

func TestVersion(t *testing.T) {
	h, _ := plugin(t, nil, "")
	testprovider.WantVersion(t, h, runpod.Version)
}

func TestLifeInTheHost(t *testing.T) {
	cloud := newCloud(t, fakerunpod.Options{Limits: []fakerunpod.Window{}})
	h, p := plugin(t, cloud.Env(), "")
	for _, q := range []sdk.OfferQuery{{}, {GPU: "H100-SXM", Regions: []string{"EU"}}} {
		offers, err := p.Offers(t.Context(), q)
		if err != nil || len(offers) == 0 {
			t.Fatalf("offers %v, %v", offers, err)
		}
		spec := newSpec("wasm-" + offers[0].GPU)
		spec.Offer, spec.GPU, spec.GPUCount = offers[0].ID, offers[0].GPU, offers[0].GPUCount
		spec.Volumes = []sdk.Volume{{Name: "data", Path: "/data"}}
		handle := testprovider.Create(t, p, spec)
		if again := testprovider.Create(t, p, spec); again != handle {
			t.Errorf("one key gave %s and %s", handle, again)
		}
		if o := testprovider.Await(t, p, handle, sdk.Running); len(o.Endpoints) != 1 || !strings.HasSuffix(o.Endpoints[0].URL, handle+"-8000") || o.CostPerHour == 0 {
			t.Errorf("observed %+v", o)
		}
		list, err := p.List(t.Context(), "own-1")
		if err != nil || len(list) != 1 || list[0] != (sdk.Listed{Handle: handle, Key: spec.Key, Owner: "own-1", State: sdk.Running, EndUnix: 1900000000}) {
			t.Errorf("listed %+v, %v", list, err)
		}
		for range 2 {
			if err := p.Terminate(t.Context(), handle); err != nil {
				t.Fatal(err)
			}
		}
		testprovider.Await(t, p, handle, sdk.Stopped)
	}
	if h.Holds([]byte(key)) {
		t.Error("the plugin holds the user's key")
	}
	if live := cloud.Live(); len(live) != 0 {
		t.Errorf("left behind: %+v", live)
	}
}

func TestKeyInTheHost(t *testing.T) {
	cloud := newCloud(t, fakerunpod.Options{})
	env, home := cloud.Env(), t.TempDir()
	_, p := plugin(t, env, home)
	env["RUNPOD_API_KEY"] = "rpa_of-somebody-else"
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "*"}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "console.runpod.io") {
		t.Errorf("with a wrong key: %v", err)
	}
	delete(env, "RUNPOD_API_KEY")
	if info, err := p.Describe(t.Context()); err != nil || info.Name != "runpod" {
		t.Errorf("describing needs no key: %+v, %v", info, err)
	}
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "*"}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "RUNPOD_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	if err := os.Mkdir(filepath.Join(home, ".runpod"), 0o700); err != nil {
		t.Fatal(err)
	}
	// As runpodctl keeps it.
	profile := "apikey = '" + key + "'\napiurl = 'https://api.runpod.io/graphql'\n"
	if err := os.WriteFile(filepath.Join(home, ".runpod", "config.toml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "L4"}); err != nil || len(offers) != 1 {
		t.Errorf("with the key of runpodctl: %v, %v", offers, err)
	}
}

func TestFaultsInTheHost(t *testing.T) {
	visited := make(chan string, 16)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { visited <- r.URL.Path }))
	defer elsewhere.Close()
	cloud := newCloud(t, fakerunpod.Options{})
	_, p := plugin(t, cloud.Env(), "")
	spec := newSpec("faults")
	spec.Offer = "cpu5c:2"

	cloud.Inject(fakerunpod.Fault{Method: "POST", Drop: true, After: true, Times: 1})
	handle := testprovider.Create(t, p, spec)
	if live := cloud.Live(); len(live) != 1 || live[0].ID != handle {
		t.Errorf("after a lost answer: %+v", live)
	}
	for _, method := range []string{"GET", "DELETE"} {
		remove := cloud.Inject(fakerunpod.Fault{Method: method, Redirect: elsewhere.URL})
		_, err := p.Observe(t.Context(), []string{handle})
		if method == "DELETE" {
			err = p.Terminate(t.Context(), handle)
		}
		if code := sdk.CodeOf(err); code != sdk.Unauthorized && code != sdk.Invalid {
			t.Errorf("%s sent elsewhere: %v", method, err)
		}
		remove()
	}
	if len(visited) != 0 {
		t.Error("a redirect to elsewhere was followed")
	}
	cloud.SetBehaviour(fakerunpod.Behaviour{NoCapacity: true})
	spec.Key = "seer-none"
	if _, err := p.Create(t.Context(), spec, nil); sdk.CodeOf(err) != sdk.NoCapacity {
		t.Errorf("no capacity: %v", err)
	}
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Error(err)
	}
}

func TestCancelledInTheHost(t *testing.T) {
	cloud := newCloud(t, fakerunpod.Options{})
	_, p := plugin(t, cloud.Env(), "")
	remove := cloud.Inject(fakerunpod.Fault{Latency: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := p.List(ctx, "own-1"); err == nil {
		t.Error("a call that the engine gave up has a result")
	}
	remove()
	if _, err := p.List(t.Context(), "own-1"); err != nil {
		t.Error(err)
	}
}
