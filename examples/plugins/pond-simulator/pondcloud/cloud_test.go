package pondcloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

func start(t *testing.T, o Options) (*Cloud, func(method, path, key, body string) (int, http.Header, map[string]any)) {
	t.Helper()
	o.Dir = t.TempDir()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, func(method, path, key, body string) (int, http.Header, map[string]any) {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer pond-key")
		req.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, req)
		var out map[string]any
		if w.Body.Len() > 0 {
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
				t.Errorf("%s %s: %s", method, path, w.Body)
			}
		}
		return w.Code, w.Header(), out
	}
}

const sleeper = `{"size":"lake","command":["sleep","1000"],"port":8080}`

func code(v map[string]any) any {
	e, _ := v["error"].(map[string]any)
	return e["code"]
}

func TestItAnswersAsItsDocumentationSays(t *testing.T) {
	_, do := start(t, Options{})
	for _, test := range []struct {
		method, path, key, body string
		status                  int
		code                    any
	}{
		{"GET", "/v1/prices", "", "", 200, nil},
		{"GET", "/v2", "", "", 404, "not_found"},
		{"GET", "/v1/machines/m-1", "", "", 404, "not_found"},
		{"POST", "/v1/machines", "k", `{`, 400, "bad_request"},
		{"POST", "/v1/machines", "k", `{"size":"lake","port":8080}`, 400, "bad_request"},
		{"POST", "/v1/machines", "k", `{"size":"sea","command":["x"],"port":8080}`, 400, "bad_request"},
		{"POST", "/v1/machines", "", sleeper, 400, "bad_request"},
		{"POST", "/v1/machines", "k", sleeper, 201, nil},
		{"POST", "/v1/machines", "k", sleeper, 200, nil},
		{"POST", "/v1/machines", "k", strings.Replace(sleeper, "8080", "81", 1), 409, "key_reused"},
		{"POST", "/v1/machines", "k2", sleeper, 409, "sold_out"},
		{"GET", "/v1/machines/m-1", "", "", 200, nil},
		{"DELETE", "/v1/machines/m-1", "", "", 204, nil},
		{"DELETE", "/v1/machines/m-1", "", "", 204, nil},
		{"POST", "/v1/machines", "k", sleeper, 200, nil}, // the key is still that of the machine that has ended
		{"POST", "/v1/machines", "k2", sleeper, 201, nil},
		{"DELETE", "/v1/machines/m-404", "", "", 404, "not_found"},
	} {
		if status, _, v := do(test.method, test.path, test.key, test.body); status != test.status || code(v) != test.code {
			t.Errorf("%s %s %s: %d %v, not %d %v", test.method, test.path, test.body, status, v, test.status, test.code)
		}
	}
}

func TestBillingFollowsTheStates(t *testing.T) {
	c, do := start(t, Options{Queue: time.Hour})
	if _, _, v := do("POST", "/v1/machines", "k", sleeper); v["state"] != "queued" || v["queue_seconds"].(float64) < 3000 {
		t.Errorf("%v", v)
	}
	if b := c.Bill(); b.Seconds != 0 || len(b.Billing) > 0 {
		t.Errorf("a queue costs %+v", b)
	}
	c, do = start(t, Options{Boot: time.Hour})
	do("POST", "/v1/machines", "k", sleeper)
	testkit.Eventually(t, "it is billed", func() bool { return slices.Equal(c.Bill().Billing, []string{"m-1"}) })
	do("DELETE", "/v1/machines/m-1", "", "")
	first := c.Bill()
	time.Sleep(10 * time.Millisecond)
	if now := c.Bill(); now.Seconds != first.Seconds || now.USD <= 0 || len(now.Billing) > 0 {
		t.Errorf("after its end %+v, then %+v", first, now)
	}
}

func TestMachinesEnd(t *testing.T) {
	c, do := start(t, Options{})
	for i, body := range []string{
		`{"size":"puddle","command":["true"],"port":8080}`,
		`{"size":"puddle","command":["sleep","1000"],"port":8080,"end_unix":1}`,
		`{"size":"puddle","command":["/no/such/program"],"port":8080}`,
		`{"size":"puddle","command":["sleep","1000"],"port":8080}`,
	} {
		do("POST", "/v1/machines", fmt.Sprint("k", i), body)
	}
	testkit.Eventually(t, "the last one is up", func() bool { return c.Machines()[3].State == up })
	if err := c.Break("m-4"); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, "all have ended", func() bool {
		var states []string
		for _, m := range c.Machines() {
			states = append(states, m.State)
		}
		return slices.Equal(states, []string{ended, ended, failed, failed})
	})
	for i, want := range []string{"its command has exited", "its end_unix has come", "no/such", "hardware"} {
		if m := c.Machines()[i]; !strings.Contains(m.Reason, want) {
			t.Errorf("%+v", m)
		}
	}
}

func TestDryMachinesRunNothing(t *testing.T) {
	c, do := start(t, Options{Dry: true})
	do("POST", "/v1/machines", "k", `{"size":"puddle","command":["/no/such/program"],"port":8080}`)
	testkit.Eventually(t, "it is up", func() bool { return c.Machines()[0].State == up })
	if _, _, v := do("GET", "/v1/machines/m-1", "", ""); v["url"] != "http://127.0.0.1:8080" {
		t.Errorf("%v", v)
	}
	do("DELETE", "/v1/machines/m-1", "", "")
	if m := c.Machines()[0]; m.State != ended {
		t.Errorf("%+v", m)
	}
}

func TestRequestsAreLimited(t *testing.T) {
	_, do := start(t, Options{Requests: 3})
	for range 3 {
		if status, _, _ := do("GET", "/v1/prices", "", ""); status != 200 {
			t.Error(status)
		}
	}
	if status, header, v := do("GET", "/v1/prices", "", ""); status != 429 || header.Get("Retry-After") == "" || code(v) != "slow_down" {
		t.Errorf("%d %v %v", status, header, v)
	}
}

func TestFaultsHitEveryNth(t *testing.T) {
	faults, err := ParseFaults("trouble:2, slow_down:3")
	if err != nil {
		t.Fatal(err)
	}
	_, do := start(t, Options{Faults: faults})
	var got []int
	for range 6 {
		status, _, _ := do("GET", "/v1/prices", "", "")
		got = append(got, status)
	}
	if want := []int{200, 503, 429, 503, 200, 503}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func FuzzRent(f *testing.F) {
	f.Add("k", sleeper)
	f.Add("", `{"size":"lake","command":[],"port":-1}`)
	f.Fuzz(func(t *testing.T, key, body string) {
		c, err := New(Options{Dir: t.TempDir(), Queue: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest("POST", "/v1/machines", strings.NewReader(body))
		req.Header = http.Header{"Authorization": {"Bearer pond-key"}, "Idempotency-Key": {key}}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, req)
		if w.Code != 201 && w.Code != 400 && w.Code != 409 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
