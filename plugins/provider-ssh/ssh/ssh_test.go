package ssh_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

type methods = map[string]func([]byte) (any, error)

func TestOffersOfAllHosts(t *testing.T) {
	t.Parallel()
	gpu := []sdk.Offer{{ID: "local-L4", GPU: "L4", Region: "linux/amd64"}}
	l := &lab{usual: "a, b", hosts: map[string]methods{
		"a": host(nil),
		"b": host(methods{"offers": func(raw []byte) (any, error) {
			if q := input[sdk.OfferQuery](t, raw); q.Options != nil || q.Regions != nil {
				t.Errorf("b was asked %+v", q)
			}
			return gpu, nil
		}}),
	}}
	p := l.provider()
	for options, want := range map[string]string{
		"": "a/local b/local-L4", `{"host":"b"}`: "b/local-L4", `{"hosts":["b","a"]}`: "b/local-L4 a/local", `{"hosts":["a","gone"]}`: "a/local",
	} {
		offers, err := p.Offers(t.Context(), sdk.OfferQuery{Options: json.RawMessage(options)})
		var ids []string
		for _, o := range offers {
			ids = append(ids, o.ID)
			if before, _, _ := strings.Cut(o.ID, "/"); o.Region != before {
				t.Errorf("%+v is not in its host", o)
			}
		}
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("%s: %q, %v", options, ids, err)
		}
	}
	if offers, err := p.Offers(t.Context(), sdk.OfferQuery{Regions: []string{"b"}}); err != nil || len(offers) != 1 || offers[0].ID != "b/local-L4" {
		t.Errorf("in b: %+v, %v", offers, err)
	}
	_, err := p.Offers(t.Context(), sdk.OfferQuery{Options: json.RawMessage(`{"host":"gone"}`)})
	testkit.WantCode(t, err, sdk.Unavailable, "the host gone cannot be reached")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	l := &lab{}
	for options, want := range map[string]string{
		"": "SEER_SSH_HOSTS", `{"hots":["a"]}`: `no "hots"`, `{"host":["a"]}`: "host and volumes_dir are texts", `[]`: "must be a mapping", `{"hosts":[""]}`: "empty name",
	} {
		_, err := l.provider().Offers(t.Context(), sdk.OfferQuery{Options: json.RawMessage(options)})
		testkit.WantCode(t, err, sdk.Invalid, want)
	}
}

func TestCreateOnTheHostOfTheOffer(t *testing.T) {
	t.Parallel()
	spec := sdk.MachineSpec{Key: "seer-1", Owner: "own-1", Isolation: "auto", Offer: "b/local-L4", Regions: []string{"b"}, Ports: []int{8000}, Options: json.RawMessage(`{"hosts":["a","b"]}`)}
	var asked []sdk.CreateInput
	l := &lab{hosts: map[string]methods{"a": host(nil), "b": host(methods{"create": func(raw []byte) (any, error) {
		asked = append(asked, input[sdk.CreateInput](t, raw))
		if len(asked) == 1 {
			return sdk.CreateStep{Cursor: json.RawMessage(`{"image":true}`), Log: []string{"a line"}, AfterSeconds: 0.1}, nil
		}
		return sdk.CreateStep{Handle: "m7"}, nil
	}})}}
	step, err := l.provider().Create(t.Context(), spec, nil)
	if err != nil || step.Handle != "" || len(step.Log) != 1 || step.AfterSeconds != 0.1 {
		t.Fatalf("%+v, %v", step, err)
	}
	step, err = l.provider().Create(t.Context(), spec, step.Cursor)
	if err != nil || step.Handle != "b/m7" || step.Cursor != nil {
		t.Fatalf("%+v, %v", step, err)
	}
	want := spec
	want.Offer, want.Regions, want.Options, want.AnyPort, want.Isolation = "local-L4", nil, nil, []int{8000}, "bubblewrap"
	if len(asked) != 2 || !reflect.DeepEqual(asked[0].Spec, want) || asked[0].Cursor != nil || string(asked[1].Cursor) != `{"image":true}` {
		t.Errorf("b was asked %+v", asked)
	}
	if ran := l.told(); slices.ContainsFunc(ran, func(s string) bool { return strings.HasPrefix(s, "a ") }) {
		t.Errorf("another host was asked: %q", ran)
	}
	spec.Offer = "c/local"
	_, err = l.provider().Create(t.Context(), spec, nil)
	testkit.WantCode(t, err, sdk.Invalid, `the offer "c/local" is not of the hosts a, b`)
}

// Without an offer the first host that has what is wanted gets the machine, unless one has it.
func TestCreateOnTheFirstHostThatFits(t *testing.T) {
	t.Parallel()
	spec := sdk.MachineSpec{Key: "seer-1", Owner: "own-1", Isolation: "none", Options: json.RawMessage(`{"hosts":["a","b"]}`)}
	full := answers([]sdk.Offer{{ID: "local-L4", Stock: sdk.StockNone}})
	for name, c := range map[string]struct {
		a, b methods
		want string
		code sdk.Code
	}{
		"first":     {want: "a/m1"},
		"full":      {a: methods{"offers": full}, want: "b/m1"},
		"there":     {b: methods{"list": answers([]sdk.Listed{{Handle: "m1", Key: "seer-1"}})}, want: "b/m1"},
		"nowhere":   {a: methods{"offers": full}, b: methods{"offers": full}, code: sdk.NoCapacity},
		"not known": {a: methods{"list": nil}, code: sdk.Unavailable}, // a may have it
	} {
		l := &lab{hosts: map[string]methods{"a": host(c.a), "b": host(c.b)}}
		step, err := l.provider().Create(t.Context(), spec, nil)
		if step.Handle != c.want || sdk.CodeOf(err) != c.code {
			t.Errorf("%s: %+v, %v", name, step, err)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	l := &lab{usual: "a", hosts: map[string]methods{"a": host(nil)}}
	for what, spec := range map[string]sdk.MachineSpec{
		"disk": {DiskGB: 10}, "folders": {Mounts: []sdk.Mount{{}}}, "image.base": {Image: &sdk.Image{Base: "python", Commands: []string{"ls"}}}, "saved one": {Image: &sdk.Image{Snapshot: "x"}},
	} {
		_, err := l.provider().Create(t.Context(), spec, nil)
		testkit.WantCode(t, err, sdk.Unsupported, what)
	}
	if ran := l.told(); len(ran) != 0 {
		t.Errorf("hosts were asked: %q", ran)
	}
	l.hosts["a"]["describe"] = answers(sdk.ProviderInfo{Isolations: []sdk.Isolation{{Name: "bubblewrap", Reason: "bwrap is not installed"}, {Name: "none", Usable: true}}})
	_, err := l.provider().Create(t.Context(), sdk.MachineSpec{Isolation: "auto"}, nil)
	testkit.WantCode(t, err, sdk.Unsupported, "on a: nothing keeps a sandbox apart", "bubblewrap: bwrap is not installed", "install bubblewrap there")
	if step, err := l.provider().Create(t.Context(), sdk.MachineSpec{Isolation: "none"}, nil); err != nil || step.Handle != "a/m1" {
		t.Errorf("without isolation: %+v, %v", step, err)
	}
}

func TestObserveAsksEachHostOnce(t *testing.T) {
	t.Parallel()
	seen := func(raw []byte) (any, error) {
		var out []sdk.Observation
		for _, h := range input[sdk.ObserveInput](t, raw).Handles {
			out = append(out, sdk.Observation{Handle: h, State: sdk.Running, Endpoints: []sdk.Endpoint{{Port: 8717, URL: "unix:/run/s"}, {Port: 80, URL: "http://127.0.0.1:4711"}}})
		}
		return out, nil
	}
	l := &lab{hosts: map[string]methods{"a": host(methods{"observe": seen}), "b": host(nil), "c": host(methods{"observe": answers([]sdk.Observation{})})}}
	handles := []string{"a/m1", "a/m2", "b/m3", "gone/m4", "c/m6", "m5"}
	list, err := l.provider().Observe(t.Context(), handles)
	if err != nil || len(list) != len(handles) {
		t.Fatalf("%+v, %v", list, err)
	}
	by := map[string]sdk.Observation{}
	for _, o := range list {
		by[o.Handle] = o
	}
	if o := by["a/m2"]; o.State != sdk.Running || len(o.Endpoints) != 2 || o.Endpoints[0].URL != sdk.RouteURL || o.Endpoints[1].URL != sdk.RouteURL {
		t.Errorf("a machine that runs: %+v", o)
	}
	for handle, why := range map[string]string{"b/m3": "on b: Seer's program ended with exit code 1: it broke", "gone/m4": "the host gone cannot be reached", "c/m6": "says nothing"} {
		if o := by[handle]; o.State != sdk.Unreachable || !strings.Contains(o.Message, why) || !o.State.Live() {
			t.Errorf("%s: %+v", handle, o)
		}
	}
	if o := by["m5"]; o.State != sdk.Stopped {
		t.Errorf("a handle of nobody: %+v", o)
	}
	if ran := l.told(); !slices.Equal(ran, []string{"a observe", "b observe", "c observe", "gone observe"}) {
		t.Errorf("hosts were asked %q", ran)
	}
	for port, target := range map[int]string{8717: "unix:/run/s", 80: "tcp:4711"} {
		r, err := l.provider().Route(t.Context(), "a/m1", port)
		if err != nil || !reflect.DeepEqual(r, sdk.Route{SSH: &sdk.SSHRoute{Host: "a", Target: target}}) {
			t.Errorf("the way to %d: %+v, %v", port, r.SSH, err)
		}
	}
	_, err = l.provider().Route(t.Context(), "a/m1", 81)
	testkit.WantCode(t, err, sdk.NotFound, "no port 81")
}

func TestListAsksHostsThatWereUsed(t *testing.T) {
	t.Parallel()
	l := &lab{usual: "a", used: []string{"a", "b"}, hosts: map[string]methods{"a": host(nil), "b": host(methods{"list": func(raw []byte) (any, error) {
		return []sdk.Listed{{Handle: "m2", Key: "seer-2", Owner: input[sdk.ListInput](t, raw).Owner, State: sdk.Running, EndUnix: 7}}, nil
	}})}}
	list, err := l.provider().List(t.Context(), "own-1")
	if err != nil || !reflect.DeepEqual(list, []sdk.Listed{{Handle: "b/m2", Key: "seer-2", Owner: "own-1", State: sdk.Running, EndUnix: 7}}) {
		t.Errorf("%+v, %v", list, err)
	}
	l.used = append(l.used, "gone", "lost")
	list, err = l.provider().List(t.Context(), "own-1")
	if err != nil || len(list) != 3 || list[0].Key != "seer-2" || list[1].Handle != "gone/" || list[2].State != sdk.Unreachable || !strings.Contains(list[2].Message, "lost") {
		t.Errorf("%+v, %v", list, err)
	}
	l.usual, l.used = "", []string{"gone", "lost"}
	_, err = l.provider().List(t.Context(), "own-1")
	testkit.WantCode(t, err, sdk.Unavailable, "gone", "lost")
}

func TestTerminate(t *testing.T) {
	t.Parallel()
	var ended []string
	l := &lab{hosts: map[string]methods{"a": host(methods{"terminate": func(raw []byte) (any, error) {
		ended = append(ended, input[sdk.TerminateInput](t, raw).Handle)
		return struct{}{}, nil
	}})}}
	for _, handle := range []string{"a/m1", "nothing"} {
		if err := l.provider().Terminate(t.Context(), handle); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(ended, []string{"m1"}) {
		t.Errorf("ended %q", ended)
	}
	testkit.WantCode(t, l.provider().Terminate(t.Context(), "gone/m1"), sdk.Unavailable, "gone")
}
