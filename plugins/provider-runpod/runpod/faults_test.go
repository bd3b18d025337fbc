package runpod_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk"
)

func TestRefusals(t *testing.T) {
	fault := func(status int, detail string) func(*rig, *sdk.MachineSpec) {
		return func(r *rig, _ *sdk.MachineSpec) {
			r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", Status: status, Detail: detail})
		}
	}
	for name, tc := range map[string]struct {
		change func(*rig, *sdk.MachineSpec)
		code   sdk.Code
		words  []string
	}{
		"wrong key":     {func(r *rig, _ *sdk.MachineSpec) { r.key = "rpa_wrong" }, sdk.Unauthorized, []string{"invalid bearer token", "RUNPOD_API_KEY", "console.runpod.io"}},
		"no credit":     {func(r *rig, _ *sdk.MachineSpec) { r.SetCredit(false) }, sdk.Unauthorized, []string{"Insufficient balance", "billing"}},
		"no capacity":   {func(r *rig, _ *sdk.MachineSpec) { r.SetBehaviour(fakerunpod.Behaviour{NoCapacity: true}) }, sdk.NoCapacity, []string{"no longer any instances"}},
		"sold out":      {func(r *rig, _ *sdk.MachineSpec) { r.Stock("cpu5c", "", 0) }, sdk.NoCapacity, nil},
		"no disk":       {fault(400, "There are no longer any instances available with enough disk space."), sdk.NoCapacity, []string{"disk"}},
		"host full":     {fault(400, "There are not enough free GPUs on the host machine to start this pod."), sdk.NoCapacity, nil},
		"machine small": {fault(422, "This machine does not have the resources to deploy your pod"), sdk.NoCapacity, nil},
		"image":         {func(_ *rig, s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "no-such/image:1"} }, sdk.Invalid, []string{"no-such/image:1", "could not be found"}},
		"GPU":           {func(_ *rig, s *sdk.MachineSpec) { s.Offer = "NVIDIA Abacus" }, sdk.Invalid, []string{"invalid GPU type: NVIDIA Abacus"}},
		"place":         {func(_ *rig, s *sdk.MachineSpec) { s.Offer = "cpu5c:2@MARS-1" }, sdk.Invalid, []string{"MARS-1"}},
		"vCPUs":         {func(_ *rig, s *sdk.MachineSpec) { s.Offer = "cpu5c:3" }, sdk.Invalid, []string{"power of two"}},
		"schema":        {func(_ *rig, s *sdk.MachineSpec) { s.Offer = "cpu5c:1" }, sdk.Invalid, []string{"Request validation failed (", "$.cpu.vcpuCount"}},
		"forbidden":     {fault(403, "access denied"), sdk.Unauthorized, []string{"access denied", "read and write access"}},
		"conflict":      {fault(409, "wrong state"), sdk.Invalid, []string{"wrong state"}},
		"retired":       {fault(410, "gone"), sdk.Unsupported, []string{"gone", "newer version"}},
		"rate":          {fault(429, "rate limit exceeded for the minute window"), sdk.RateLimited, []string{"minute window"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			spec := newSpec()
			tc.change(r, &spec)
			_, _, err := r.create(spec)
			testkit.WantCode(t, err, tc.code, tc.words...)
			r.wantLive()
		})
	}
}

func TestCredentialGoesNowhereElse(t *testing.T) {
	visited := make(chan string, 16)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { visited <- r.Header.Get("Authorization") }))
	defer elsewhere.Close()
	r := newRig(t)
	r.Inject(fakerunpod.Fault{Redirect: elsewhere.URL})
	_, _, err := r.create(newSpec())
	testkit.WantCode(t, err, sdk.Invalid, "sends elsewhere", elsewhere.URL, "RUNPOD_API_BASE_URL")
	_, err = r.Offers(t.Context(), sdk.OfferQuery{GPU: "*"})
	testkit.WantCode(t, err, sdk.Invalid, "sends elsewhere")
	testkit.WantCode(t, r.Terminate(t.Context(), "abc"), sdk.Invalid, "sends elsewhere")
	if len(visited) != 0 {
		t.Error("a redirect to elsewhere was followed")
	}
}

// answering is a RunPod that always says the same.
func answering(t *testing.T, status int, header http.Header, body string) *runpod.Provider {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return &runpod.Provider{Transport: http.DefaultTransport, Settings: func() (map[string]string, error) {
		return map[string]string{"api_url": s.URL + "/", "proxy_url": "http://{pod}/{port}"}, nil
	}}
}

func TestOddAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		code   sdk.Code
		words  string
	}{
		"page of the edge": {502, "<html><title>502</title></html>", sdk.Unavailable, "HTTP 502 Bad Gateway"},
		"edge refuses":     {403, "error code: 1010", sdk.Unauthorized, "HTTP 403 Forbidden"},
		"odd problem":      {400, `{"title":"Bad","detail":7,"errors":"x"}`, sdk.Invalid, "RunPod says: Bad"},
		"older problem":    {400, `{"error":"Something went wrong.","status":500}`, sdk.Invalid, "Something went wrong"},
		"not JSON":         {200, "hello", sdk.Internal, "not what its API describes"},
		"empty":            {200, "", sdk.Internal, "not what its API describes"},
		"long":             {400, `{"detail":"` + strings.Repeat("long ", 5000) + `"}`, sdk.Invalid, "long …"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answering(t, tc.status, nil, tc.body).List(t.Context(), "own")
			testkit.WantCode(t, err, tc.code, tc.words)
			if len(err.Error()) > 2000 || strings.Contains(err.Error(), "\n") {
				t.Errorf("not one sentence: %d bytes", len(err.Error()))
			}
		})
	}
}

func TestPodsAsTheyMayCome(t *testing.T) {
	body := `{"cursor":"abc","pods":[
		{"id":"p1","name":"k1.own.5","status":"RUNNING","runtime":{},"ports":null,"cost":1,"createdAt":null,"dataCenterId":null},
		{"id":"p2","name":"k2.own.6","status":"RUNNING","runtime":{"uptime":0},"ports":["8000/http","22/tcp","x/http","-1/http"],"cost":0.5},
		{"id":"p3","name":"k3.own.7","status":"HIBERNATING","runtime":null},
		{"id":"p4","name":"k4.own.8","status":"TERMINATED"},
		{"id":"p5","name":null,"status":"RUNNING"}]}`
	p := answering(t, 200, nil, body)
	all, err := p.Observe(t.Context(), []string{"p1", "p2", "p3", "p4"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []sdk.State{sdk.Starting, sdk.Running, sdk.Starting, sdk.Stopped} {
		if all[i].State != want {
			t.Errorf("%+v is not %s", all[i], want)
		}
	}
	if e := all[1].Endpoints; len(e) != 1 || e[0] != (sdk.Endpoint{Port: 8000, URL: "http://p2/8000"}) {
		t.Errorf("endpoints %v", e)
	}
	if list, err := p.List(t.Context(), "own"); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestRateLimit(t *testing.T) {
	r := newRig(t, func(o *fakerunpod.Options) {
		o.Limits = []fakerunpod.Window{{Name: "minute", Quota: 3, Length: time.Minute}, {Name: "hour", Quota: 100, Length: time.Hour}}
	})
	handle := r.mustCreate(newSpec()) // a look, the request, a look
	r.clock.Advance(20 * time.Second)
	asked := sum(r.Requests())
	for range 3 {
		_, err := r.Observe(t.Context(), []string{handle})
		testkit.WantCode(t, err, sdk.RateLimited, "minute")
		var e *sdk.Error
		if !errors.As(err, &e) || e.Seconds != 40 {
			t.Errorf("wait %v s, not 40", e.Seconds)
		}
	}
	if n := sum(r.Requests()) - asked; n != 0 {
		t.Errorf("%d requests were made that could only be refused", n)
	}
	other := r.provider(http.DefaultTransport) // another program with the same key
	_, err := other.List(t.Context(), "own")
	testkit.WantCode(t, err, sdk.RateLimited, "rate limit exceeded for the minute window")
	var e *sdk.Error
	if !errors.As(err, &e) || e.Seconds != 40 {
		t.Errorf("wait %v s, not 40", e.Seconds)
	}
	r.clock.Advance(40 * time.Second)
	if o := r.observe(handle); !o.State.Live() {
		t.Errorf("%+v", o)
	}
}

// A storm of 429 in the middle of a start loses nothing and makes nothing twice.
func TestRateLimitStorm(t *testing.T) {
	r := newRig(t)
	r.Inject(fakerunpod.Fault{Status: 429, RetryAfter: 7, Times: 2})
	r.Inject(fakerunpod.Fault{Method: "POST", Status: 429, RetryAfter: 7, Times: 2})
	spec := newSpec()
	var cursor json.RawMessage
	refused := 0
	for range 20 {
		step, err := r.Create(t.Context(), spec, cursor)
		if err != nil {
			var e *sdk.Error
			if !errors.As(err, &e) || e.Code != sdk.RateLimited || e.Seconds != 7 {
				t.Fatal(err)
			}
			refused++
			continue // as the engine does
		}
		if step.Handle != "" {
			break
		}
		cursor = step.Cursor
	}
	if refused != 4 || len(r.Live()) != 1 {
		t.Errorf("refused %d times, %d pods", refused, len(r.Live()))
	}
}

func TestTerminateWhileTheAPIIsDown(t *testing.T) {
	r := newRig(t)
	handle := r.mustCreate(newSpec())
	remove := r.Inject(fakerunpod.Fault{Method: "DELETE", Status: 503, RetryAfter: 9})
	err := r.Terminate(t.Context(), handle)
	testkit.WantCode(t, err, sdk.Unavailable)
	var e *sdk.Error
	if !errors.As(err, &e) || e.Seconds != 9 {
		t.Errorf("%v", err)
	}
	r.wantLive(handle)
	remove()
	r.Inject(fakerunpod.Fault{Method: "DELETE", Drop: true, After: true, Times: 1})
	testkit.WantCode(t, r.Terminate(t.Context(), handle), sdk.Unavailable, "ending the pod "+handle)
	if err := r.Terminate(t.Context(), handle); err != nil {
		t.Error(err)
	}
	r.wantLive()
	testkit.WantCode(t, r.Terminate(t.Context(), "../catalog"), sdk.Invalid)
	if err := r.Terminate(t.Context(), "unknown"); err != nil {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	r := newRig(t)
	handle := r.mustCreate(newSpec())
	r.Inject(fakerunpod.Fault{Latency: time.Hour})
	for name, call := range map[string]func(context.Context) error{
		"observe":   func(ctx context.Context) error { _, err := r.Observe(ctx, []string{handle}); return err },
		"list":      func(ctx context.Context) error { _, err := r.List(ctx, "own"); return err },
		"offers":    func(ctx context.Context) error { _, err := r.Offers(ctx, sdk.OfferQuery{}); return err },
		"terminate": func(ctx context.Context) error { return r.Terminate(ctx, handle) },
		"create":    func(ctx context.Context) error { _, err := r.Create(ctx, newSpec(), nil); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettings(t *testing.T) {
	good := map[string]string{"api_url": "https://api.runpod.io", "proxy_url": "https://{pod}-{port}.proxy.runpod.net"}
	for name, bad := range map[string][]string{
		"api_url":   {"", "api.runpod.io", "https://api.runpod.io/v2", "ftp://x", "https://u:p@x", "https://x?y", "https://"},
		"proxy_url": {"", "https://{pod}.x", "https://x-{port}.y"},
	} {
		for _, value := range bad {
			set := map[string]string{"api_url": good["api_url"], "proxy_url": good["proxy_url"]}
			set[name] = value
			p := &runpod.Provider{Settings: func() (map[string]string, error) { return set, nil }}
			_, err := p.List(t.Context(), "own")
			testkit.WantCode(t, err, sdk.Invalid, map[string]string{"api_url": "RUNPOD_API_BASE_URL", "proxy_url": "RUNPOD_PROXY_URL"}[name])
		}
	}
}
