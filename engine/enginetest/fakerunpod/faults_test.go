package fakerunpod_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

func TestStormOfErrors(t *testing.T) {
	r := start(t)
	r.Inject(fakerunpod.Fault{Method: "GET", Path: "/v2/pods", Status: 503, Skip: 1, Times: 2})
	for _, want := range []int{200, 503, 503, 200} {
		r.do(want, "GET", "/v2/pods", nil)
	}
	remove := r.Inject(fakerunpod.Fault{Path: "/v2/pods/*", Status: 500, Detail: "down"})
	if p := r.do(500, "DELETE", "/v2/pods/x", nil); p["detail"] != "down" {
		t.Errorf("%v", p)
	}
	r.do(200, "GET", "/v2/pods", nil)
	remove()
	remove()
	r.do(404, "DELETE", "/v2/pods/x", nil)
	r.Inject(fakerunpod.Fault{Status: 429, RetryAfter: 7})
	if a := r.send(r.key, "GET", "/v2/catalog/cpus", nil); a.status != 429 || a.header.Get("Retry-After") != "7" {
		t.Errorf("%+v", a)
	}
	r.ClearFaults()
	r.do(200, "GET", "/v2/catalog/cpus", nil)
}

func TestAnswerIsLostAfterTheEffect(t *testing.T) {
	r := start(t)
	r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", After: true, Status: 500, Times: 1})
	r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", After: true, Drop: true, Times: 1})
	r.do(500, "POST", "/v2/pods", request(nil))
	if a, err := r.try(r.key, "POST", "/v2/pods", request(nil)); err == nil {
		t.Errorf("%+v", a)
	}
	if len(r.Live()) != 2 {
		t.Errorf("%+v", r.Pods())
	}
	r.Inject(fakerunpod.Fault{Drop: true})
	if a, err := r.try(r.key, "POST", "/v2/pods", request(nil)); err == nil || len(r.Live()) != 2 {
		t.Errorf("%+v: it had an effect", a)
	}
}

func TestRedirect(t *testing.T) {
	r := start(t)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	r.Inject(fakerunpod.Fault{Redirect: elsewhere.URL})
	if a := r.send(r.key, "GET", "/v2/pods?a=b", nil); a.status != 307 || a.header.Get("Location") != elsewhere.URL+"/v2/pods?a=b" {
		t.Errorf("%+v", a)
	}
}

func TestLatency(t *testing.T) {
	r := start(t)
	r.Inject(fakerunpod.Fault{Latency: 30 * time.Millisecond, Times: 1})
	began := time.Now()
	if r.do(200, "GET", "/v2/pods", nil); time.Since(began) < 30*time.Millisecond {
		t.Error("it came at once")
	}
}

func TestPodsThatDoNotBecomeMachines(t *testing.T) {
	r := start(t)
	r.SetBehaviour(fakerunpod.Behaviour{StuckProvisioning: true})
	stuck := r.create(nil)
	r.SetBehaviour(fakerunpod.Behaviour{DieStarting: true})
	dead := r.create(nil)
	r.awaitStatus(dead, "ERROR")
	if s := r.pod(stuck)["status"]; s != "PROVISIONING" || len(r.Live()) != 2 {
		t.Errorf("%v, %+v", s, r.Pods())
	}
	r.do(204, "DELETE", "/v2/pods/"+stuck, nil)
	r.do(204, "DELETE", "/v2/pods/"+dead, nil)
}

func TestStaleList(t *testing.T) {
	clock := enginetest.NewClock()
	r := start(t, func(o *fakerunpod.Options) { o.Clock, o.Delays.Forget = clock, time.Minute })
	r.SetBehaviour(fakerunpod.Behaviour{ListDelay: 5 * time.Second})
	id := r.create(nil)
	if list := r.do(200, "GET", "/v2/pods", nil)["pods"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	r.pod(id)
	clock.Advance(5 * time.Second)
	if list := r.do(200, "GET", "/v2/pods", nil)["pods"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	r.do(204, "DELETE", "/v2/pods/"+id, nil)
	if p := r.pod(id); p["status"] != "TERMINATED" || p["cost"] != 0.0 || len(p["actions"].([]any)) != 0 {
		t.Errorf("%v", p)
	}
	clock.Advance(time.Minute)
	r.do(404, "GET", "/v2/pods/"+id, nil)
}

func TestUnknownFields(t *testing.T) {
	r := start(t)
	r.SetBehaviour(fakerunpod.Behaviour{UnknownFields: true})
	p := r.pod(r.create(object{"env": object{"A": "b"}}))
	if p["notYetInvented"] == nil || p["gpu"].(object)["notYetInvented"] == nil || len(p["env"].(object)) != 1 {
		t.Errorf("%v", p)
	}
}

func TestLimits(t *testing.T) {
	clock := enginetest.NewClock()
	r := start(t, func(o *fakerunpod.Options) {
		o.Clock = clock
		o.Limits = []fakerunpod.Window{{Name: "minute", Quota: 3, Length: time.Minute}, {Name: "hour", Quota: 4, Length: time.Hour}}
	})
	get := func() answer { return r.send(r.key, "GET", "/v2/pods", nil) }
	if a := get(); a.header.Get("RateLimit") != `"minute";r=2;t=60, "hour";r=3;t=3600` || a.header.Get("RateLimit-Policy") != `"minute";q=3;w=60, "hour";q=4;w=3600` {
		t.Errorf("%v", a.header)
	}
	get()
	get()
	clock.Advance(50 * time.Second)
	if a := get(); a.status != 429 || a.header.Get("Retry-After") != "10" || a.body["detail"] != "rate limit exceeded for the minute window" {
		t.Errorf("%+v", a)
	}
	if a := r.send("", "GET", "/v2/pods", nil); a.status != 401 || a.header.Get("RateLimit") != "" {
		t.Errorf("%+v", a)
	}
	clock.Advance(10 * time.Second)
	if a := get(); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := get(); a.status != 429 || a.body["detail"] != "rate limit exceeded for the hour window" || a.header.Get("Retry-After") != "3540" {
		t.Errorf("%+v", a)
	}
}

func TestDefaultLimits(t *testing.T) {
	r := start(t, func(o *fakerunpod.Options) { o.Limits = nil })
	if a := r.send(r.key, "GET", "/v2/pods", nil); a.header.Get("RateLimit-Policy") != `"minute";q=60;w=60, "hour";q=3000;w=3600, "day";q=50000;w=86400` {
		t.Errorf("%v", a.header)
	}
}

func TestControl(t *testing.T) {
	r := start(t)
	control := httptest.NewServer(r.Control())
	defer control.Close()
	ask := func(method, path, body string, into any) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if into != nil {
			if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		return resp.StatusCode
	}
	id := r.create(nil)
	r.awaitUp(id)
	var pods []fakerunpod.Pod
	if ask("GET", "/pods", "", &pods); len(pods) != 1 || pods[0].ID != id || !pods[0].Live() {
		t.Errorf("%+v", pods)
	}
	ask("POST", "/faults", `{"status":503,"times":1}`, nil)
	r.do(503, "GET", "/v2/pods", nil)
	ask("PUT", "/behaviour", `{"no_capacity":true}`, nil)
	r.noRoom(nil)
	ask("DELETE", "/faults", "", nil)
	ask("PUT", "/stock", `{"resource":"NVIDIA L4","n":0}`, nil)
	r.noRoom(nil)
	ask("PUT", "/keys/"+r.key, "false", nil)
	r.do(401, "GET", "/v2/pods", nil)
	ask("PUT", "/keys/"+r.key, "true", nil)
	ask("POST", "/pods/"+id+"/lose", "", nil)
	r.awaitStatus(id, "ERROR")
	ask("PUT", "/credit", "false", nil)
	if len(r.Live()) != 0 {
		t.Errorf("%+v", r.Pods())
	}
	var requests map[string]int
	if ask("GET", "/requests", "", &requests); requests["POST /v2/pods"] != 3 {
		t.Errorf("%v", requests)
	}
	if status := ask("POST", "/faults", `{"stat":503}`, nil); status != 400 {
		t.Errorf("an unknown field: %d", status)
	}
}
