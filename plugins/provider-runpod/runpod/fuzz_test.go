package runpod

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seer-engine/seer/sdk"
)

func FuzzName(f *testing.F) {
	f.Add("seer-abc.own-1.1900000000")
	f.Add("a.b.c.5")
	f.Add("a..5")
	f.Add("a.b.05")
	f.Add("my pod")
	f.Fuzz(func(t *testing.T, name string) {
		id, ours := parseName(name)
		if ours && (id.String() != name || id.Key == "" || id.Owner == "" || id.EndUnix < 0) {
			t.Errorf("%q became %+v", name, id)
		}
	})
}

// What identifies a machine comes back from the name of its pod.
func FuzzIdentity(f *testing.F) {
	f.Add("seer-abc", "own-1", int64(1900000000))
	f.Add("k", "a.b.7", int64(0))
	f.Fuzz(func(t *testing.T, key, owner string, end int64) {
		id, err := identityOf(sdk.MachineSpec{Key: key, Owner: owner, EndUnix: end})
		if err != nil {
			return
		}
		if back, ours := parseName(id.String()); !ours || back != id || len(id.String()) > 191 {
			t.Errorf("%+v became %q and %+v", id, id, back)
		}
	})
}

func FuzzPods(f *testing.F) {
	f.Add(`{"pods":[{"id":"p1","name":"k.o.5","status":"RUNNING","runtime":{"uptime":1},"ports":["8000/http"],"cost":0.5,"createdAt":"2026-06-01T12:00:00Z"}]}`)
	f.Add(`{"pods":[{"runtime":{},"ports":["1/2/http","/http"],"createdAt":"?"},{"status":"ERROR"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var answer struct{ Pods []pod }
		if json.Unmarshal([]byte(text), &answer) != nil {
			return
		}
		c := client{settings: settings{proxy: "https://{pod}-{port}.x"}}
		for _, p := range answer.Pods {
			o := c.observe("h", p)
			if o.State == "" || !o.State.Live() && o.CostPerHour != 0 || o.State != sdk.Running && len(o.Endpoints) > 0 {
				t.Errorf("%+v became %+v", p, o)
			}
			for _, q := range answer.Pods {
				if older(p, q) != -older(q, p) {
					t.Errorf("%+v and %+v have no order", p, q)
				}
			}
		}
	})
}

func FuzzProblem(f *testing.F) {
	f.Add(400, `{"title":"Bad Request","status":400,"detail":"There are no longer any instances available","errors":["$: x"]}`)
	f.Add(408, ``)
	f.Add(502, `<html>`)
	f.Add(422, `{"detail":7,"errors":[{}],"title":null,"message":"m"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status/100 == 2 || status < 100 || status > 999 {
			return
		}
		err := ofStatus("asking", status, http.Header{}, []byte(body))
		text := err.Error()
		if sdk.CodeOf(err) == "" || !strings.HasPrefix(text, "asking: ") || strings.ContainsAny(text, "\n\r") || len(text) > 8*maxText || !utf8.ValidString(text) {
			t.Errorf("%d %q became %q (%s)", status, body, text, sdk.CodeOf(err))
		}
		if inDoubt(err) != (status >= 500 || status == http.StatusRequestTimeout) {
			t.Errorf("%d: %v", status, err)
		}
	})
}

func FuzzRateLimit(f *testing.F) {
	f.Add(`"minute";r=0;t=12, "hour";r=2800;t=1812, "day";r=49500;t=45012`, "12")
	f.Add(`minute;r=;t=-1,,;;=`, "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Fuzz(func(t *testing.T, limits, after string) {
		header := http.Header{"Ratelimit": {limits}, "Retry-After": {after}}
		for _, w := range parseRateLimit(limits) {
			if w.Left < 0 || w.Reset < 0 || w.Reset > maxWait {
				t.Errorf("%q became %+v", limits, w)
			}
		}
		if s := retryAfter(header); s <= 0 || s > maxWait {
			t.Errorf("wait %v s", s)
		}
	})
}

func TestRateLimitHeader(t *testing.T) {
	all := parseRateLimit(`"minute";r=0;t=12, "hour";r=0;t=1812, "day";r=49500;t=45012;x=1`)
	if len(all) != 3 || all[0] != (window{"minute", 0, 12}) || all[2] != (window{"day", 49500, 45012}) {
		t.Errorf("%+v", all)
	}
	if w, ok := spent(http.Header{"Ratelimit": {`"minute";r=0;t=12, "hour";r=0;t=1812`}}); !ok || w.Name != "hour" {
		t.Errorf("%+v", w)
	}
}

func FuzzChoice(f *testing.F) {
	f.Add("NVIDIA A100-SXM4-80GB@EU-RO-1,EU-SE-1")
	f.Add("cpu5c:4@US-KS-2")
	f.Add("cpu5c:04")
	f.Add("@")
	f.Fuzz(func(t *testing.T, offer string) {
		c, err := parseChoice(offer)
		if err != nil {
			if sdk.CodeOf(err) != sdk.Invalid {
				t.Error(err)
			}
			return
		}
		back, err := parseChoice(c.String())
		if err != nil || back.String() != c.String() || c.ID == "" {
			t.Errorf("%q became %+v and %+v, %v", offer, c, back, err)
		}
	})
}

// A shell takes the words as they are, whatever they hold.
func FuzzOptions(f *testing.F) {
	f.Add(`{"cloud":"community","cuda":"12.4","template":"t","registry":"r","image_entrypoint":"replace"}`)
	f.Add(`{"cloud":7}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, raw string) {
		o, err := parseOptions(json.RawMessage(raw))
		if err == nil && o.check() != nil || err != nil && sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q became %+v, %v", raw, o, err)
		}
	})
}

// A cursor comes back from where it was kept; a broken one harms nothing.
func FuzzCursor(f *testing.F) {
	f.Add(`{"step":"check","tries":4,"attempts":1}`)
	f.Add(`{"step":"settle","pod":"p1","tries":99}`)
	f.Add(`{"tries":-5}`)
	f.Fuzz(func(t *testing.T, raw string) {
		cur, err := parseCursor(json.RawMessage(raw))
		if err != nil {
			return
		}
		c := creation{cur: cur}
		if c.mayAppear() {
			if _, err := c.again(); err != nil {
				t.Error(err)
			}
		}
		if c.cur.Step == stepSettle && c.cur.Pod == "" {
			t.Errorf("%q waits for no pod", raw)
		}
	})
}
