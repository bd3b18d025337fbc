package readiness_test

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/readiness"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// cluster counts how often it is looked at.
type cluster struct {
	sdk.Provider
	features []sdk.Feature
	found    []sdk.Finding
	err      error
	asked    []sdk.CheckQuery
}

func (c *cluster) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "lab", Features: c.features}, nil
}

func (c *cluster) Check(_ context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	c.asked = append(c.asked, q)
	return c.found, c.err
}

type world struct {
	readiness.Checker
	now      time.Time
	identity string
}

func open(t *testing.T, c *cluster) *world {
	t.Helper()
	store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Unix(1_800_000_000, 0), identity: "one"}
	w.Checker = readiness.Checker{
		Provider: func(context.Context, string) (sdk.Provider, error) { return c, nil },
		Identity: func(context.Context, string) (string, error) { return w.identity, nil },
		Store:    store, Now: func() time.Time { return w.now },
	}
	return w
}

// A cluster is looked at once for each question and some minutes, and at once again after a
// failure, with other settings, or by somebody who asks anew.
func TestFindingsAreKept(t *testing.T) {
	t.Parallel()
	ok := sdk.Finding{Name: "login", State: sdk.FindingOK}
	c := &cluster{features: []sdk.Feature{sdk.FeatureCheck}, found: []sdk.Finding{ok}}
	w := open(t, c)
	asked := func(want int, what string) {
		t.Helper()
		if len(c.asked) != want {
			t.Errorf("%s: it was looked at %d times, not %d", what, len(c.asked), want)
		}
	}
	known := func(q sdk.CheckQuery) {
		t.Helper()
		found, err := w.Known(t.Context(), "lab", q)
		if err != nil || !reflect.DeepEqual(found, c.found) {
			t.Errorf("%+v, %v", found, err)
		}
	}
	one, two := sdk.CheckQuery{GPU: "H100"}, sdk.CheckQuery{GPU: "H100", Options: json.RawMessage(`{"partition":"gpu"}`)}
	known(one)
	known(one)
	asked(1, "the same question")
	known(two)
	asked(2, "other options")
	known(one)
	asked(2, "the first question again")
	w.identity = "two"
	known(one)
	asked(3, "other settings")
	w.identity = "one"
	w.now = w.now.Add(readiness.Keep - time.Second)
	known(one)
	asked(3, "just before the end")
	w.now = w.now.Add(time.Second)
	known(one)
	asked(4, "after the end")
	w.now = w.now.Add(-time.Hour)
	known(one)
	asked(5, "from the future")
	if _, err := w.Look(t.Context(), "lab", one); err != nil {
		t.Error(err)
	}
	asked(6, "anew")

	c.found = []sdk.Finding{{Name: "login", State: sdk.FindingFailed, Fix: "mend it"}}
	if _, err := w.Look(t.Context(), "lab", one); err != nil {
		t.Error(err)
	}
	known(one)
	known(one)
	asked(9, "after failures")
	c.found = []sdk.Finding{ok}
	deep := one
	deep.OnNode = true
	if _, err := w.Look(t.Context(), "lab", deep); err != nil || !c.asked[9].OnNode {
		t.Error(err)
	}
	known(one)
	asked(10, "what a node has said")
}

func TestProvidersThatCannotTell(t *testing.T) {
	t.Parallel()
	_, err := open(t, &cluster{}).Known(t.Context(), "lab", sdk.CheckQuery{})
	testkit.WantCode(t, err, sdk.Unsupported, "the provider lab has no checks of its own")
	c := &cluster{features: []sdk.Feature{sdk.FeatureCheck}, err: sdk.Errorf(sdk.Unavailable, "gone")}
	w := open(t, c)
	for range 2 {
		_, err = w.Known(t.Context(), "lab", sdk.CheckQuery{})
		testkit.WantCode(t, err, sdk.Unavailable, "gone")
	}
	if len(c.asked) != 2 {
		t.Errorf("an error was kept: %d questions", len(c.asked))
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	query := func(text string, env map[string]string) sdk.CheckQuery {
		t.Helper()
		exp, err := experiment.Parse([]byte(text), "seer.yaml", experiment.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return readiness.Query(exp, "slurm", func(name string) string { return env[name] })
	}
	q := query(`{name: x, sandbox: {provider: slurm, gpu: H100, gpu_count: 2, timeout: 2h, python_version: "3.12", python_packages: [numpy], models: [org/model],
  provider_options: {slurm: {partition: gpu}}}}`, map[string]string{"HF_ENDPOINT": "https://hub.example:8443/x", "PIP_INDEX_URL": "https://me:secret@index.example/simple"})
	want := sdk.CheckQuery{GPU: "H100", GPUCount: 2, Isolation: q.Isolation, Network: "open", PythonVersion: "3.12", TimeoutSeconds: 7200,
		Hosts: []string{"hub.example:8443", "index.example:443"}, Options: q.Options}
	if !reflect.DeepEqual(q, want) || string(q.Options) != `{"partition":"gpu"}` {
		t.Errorf("%+v", q)
	}
	if q := query(`{name: x, sandbox: {provider: slurm, gpu: [H100, A100], network: none, python_packages: [numpy]}}`, nil); q.GPU != "*" || q.Hosts != nil {
		t.Errorf("%+v", q)
	}
	if q := query(`{name: x, sandbox: {provider: slurm, python_packages: [numpy]}}`, map[string]string{"PIP_INDEX_URL": "http://plain.example"}); len(q.Hosts) != 0 {
		t.Errorf("an address without TLS: %+v", q)
	}
	if q := readiness.Usual(func(string) string { return "" }); len(q.Hosts) != 2 {
		t.Errorf("%+v", q)
	}
}

// TestManyAskAtOnce: one of them looks, as a look is many commands on the same host.
func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	c := &cluster{features: []sdk.Feature{sdk.FeatureCheck}, found: []sdk.Finding{{Name: "login", State: sdk.FindingOK}}}
	w := open(t, c)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if found, err := w.Known(t.Context(), "lab", sdk.CheckQuery{}); err != nil || !reflect.DeepEqual(found, c.found) {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
	all.Wait()
	if len(c.asked) != 1 {
		t.Errorf("it was looked at %d times", len(c.asked))
	}
}
