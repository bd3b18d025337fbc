package runpod_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk"
)

// rig is a fake RunPod and a provider that reaches it as the host would let
// it. Their time passes only where a test lets it.
type rig struct {
	*fakerunpod.Cloud
	*runpod.Provider
	t     *testing.T
	clock *enginetest.Clock
	key   string
	env   map[string]string
}

func newRig(t *testing.T, change ...func(*fakerunpod.Options)) *rig {
	t.Helper()
	clock := enginetest.NewClock()
	o := fakerunpod.Options{
		Dir: t.TempDir(), Python: "/usr/bin/python3", Limits: []fakerunpod.Window{}, Clock: clock,
		Delays: fakerunpod.Delays{Stop: 50 * time.Millisecond, Restart: time.Hour},
	}
	for _, f := range change {
		f(&o)
	}
	cloud, err := fakerunpod.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	r := &rig{Cloud: cloud, t: t, clock: clock, env: cloud.Env()}
	r.key = r.env["RUNPOD_API_KEY"]
	r.Provider = r.provider(http.DefaultTransport)
	return r
}

// provider is another one of the same account.
func (r *rig) provider(next http.RoundTripper) *runpod.Provider {
	return &runpod.Provider{
		Settings: func() (map[string]string, error) {
			return map[string]string{"api_url": r.env["RUNPOD_API_BASE_URL"], "proxy_url": r.env["RUNPOD_PROXY_URL"]}, nil
		},
		Transport: authorized{r, next},
		Now:       r.clock.Now,
	}
}

// authorized does the host's part.
type authorized struct {
	r    *rig
	next http.RoundTripper
}

func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+a.r.key)
	return a.next.RoundTrip(req)
}

// ask makes a request to RunPod that is not the provider's.
func (r *rig) ask(method, path string, body any) map[string]any {
	r.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.env["RUNPOD_API_BASE_URL"]+"/v2"+path, bytes.NewReader(data))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.env["RUNPOD_API_KEY"])
	req.Header.Set("User-Agent", "test")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		r.t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// newSpec is a machine that does nothing for a while.
func newSpec() sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: "seer-" + strings.ToLower(rand.Text()[:20]), Owner: "own-1.a", Name: "trial",
		Command: []string{"sleep", "600"}, Env: map[string]string{"SEER_TRIAL": "a b"},
		Port: 8000, TimeoutSeconds: 600, EndUnix: 1900000000, Offer: "cpu5c:2",
	}
}

// create takes the steps to a handle, and gives what it was told on the way. Waiting
// takes no time.
func (r *rig) create(spec sdk.MachineSpec) (string, []string, error) {
	r.t.Helper()
	return r.goOn(spec, nil)
}

func (r *rig) goOn(spec sdk.MachineSpec, cursor json.RawMessage) (handle string, log []string, err error) {
	r.t.Helper()
	return testprovider.Steps(r.t, r, spec, cursor, func(step sdk.CreateStep) {
		if len(step.Cursor) > 4<<10 {
			r.t.Fatalf("a large cursor: %q", step.Cursor)
		}
		r.clock.Advance(time.Duration(step.AfterSeconds * float64(time.Second)))
	})
}

func (r *rig) mustCreate(spec sdk.MachineSpec) string {
	r.t.Helper()
	handle, log, err := r.create(spec)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
	}
	return handle
}

func (r *rig) observe(handle string) sdk.Observation {
	r.t.Helper()
	return testprovider.Observe(r.t, r, handle)
}

func (r *rig) await(handle string, state sdk.State) sdk.Observation {
	r.t.Helper()
	var o sdk.Observation
	r.eventually("the machine is "+string(state), func() bool {
		o = r.observe(handle)
		return o.State == state
	})
	return o
}

func (r *rig) eventually(what string, so func() bool) {
	r.t.Helper()
	testkit.Eventually(r.t, what, so)
}

// wantLive checks that these machines cost money, and no others.
func (r *rig) wantLive(handles ...string) {
	r.t.Helper()
	live := r.Live()
	if len(live) != len(handles) {
		r.t.Fatalf("%d pods cost money, not %d: %+v", len(live), len(handles), live)
	}
	for i, h := range handles {
		if live[i].ID != h {
			r.t.Errorf("%s costs money, not %s", live[i].ID, h)
		}
	}
}
