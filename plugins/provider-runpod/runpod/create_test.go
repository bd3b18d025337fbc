package runpod_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func TestOneKeyOneMachine(t *testing.T) {
	r := newRig(t)
	spec := newSpec()
	first := r.mustCreate(spec)
	handle, log, err := r.create(spec)
	if err != nil || handle != first || len(log) != 1 || !strings.Contains(log[0], "earlier attempt") {
		t.Errorf("%s then %s, %q, %v", first, handle, log, err)
	}
	r.wantLive(first)
	r.ask("POST", "/pods/"+first+"/action", map[string]string{"action": "stop"})
	if again := r.mustCreate(spec); again != first {
		t.Errorf("a machine that has ended was rented again: %s", again)
	}
	spec.Owner = "own-2"
	if other := r.mustCreate(spec); other == first {
		t.Error("the machine of another owner was taken")
	}
}

// What RunPod did not answer may have happened.
func TestLostAnswers(t *testing.T) {
	post := fakerunpod.Fault{Method: "POST", Path: "/v2/pods", Times: 1}
	for name, tc := range map[string]struct {
		fault func(*fakerunpod.Fault)
		late  time.Duration
		posts int
	}{
		"500, made":          {func(f *fakerunpod.Fault) { f.Status, f.After = 500, true }, 0, 1},
		"500, made, late":    {func(f *fakerunpod.Fault) { f.Status, f.After = 500, true }, 15 * time.Second, 1},
		"cut, made, late":    {func(f *fakerunpod.Fault) { f.Drop, f.After = true, true }, 8 * time.Second, 1},
		"503, not made":      {func(f *fakerunpod.Fault) { f.Status = 503 }, 0, 2},
		"cut, not made":      {func(f *fakerunpod.Fault) { f.Drop = true }, 3 * time.Second, 2},
		"two cuts, not made": {func(f *fakerunpod.Fault) { f.Drop, f.Times = true, 2 }, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.SetBehaviour(fakerunpod.Behaviour{ListDelay: tc.late})
			f := post
			tc.fault(&f)
			r.Inject(f)
			handle, log, err := r.create(newSpec())
			if err != nil {
				t.Fatalf("%v, %q", err, log)
			}
			if n := r.Requests()["POST /v2/pods"]; n != tc.posts {
				t.Errorf("rented %d times, not %d", n, tc.posts)
			}
			if !strings.Contains(strings.Join(log, "\n"), "looking whether the pod was made") {
				t.Errorf("log %q", log)
			}
			r.wantLive(handle)
		})
	}
}

// A pod may appear long after RunPod has said that it was not made. There is then one,
// and it is the one that was asked for first.
func TestPodAppearsAfterItsRefusal(t *testing.T) {
	for _, later := range []time.Duration{5 * time.Second, 30 * time.Second, 40 * time.Second} {
		r := newRig(t)
		r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", Status: 500, After: true, Later: later, Times: 1})
		handle := r.mustCreate(newSpec())
		r.clock.Advance(time.Minute)
		if n := r.Requests()["POST /v2/pods"]; n != 1 {
			t.Errorf("%s late: rented %d times", later, n)
		}
		r.wantLive(handle)
	}
}

func TestRentingThatAlwaysFails(t *testing.T) {
	r := newRig(t)
	r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", Status: 502, Detail: "Bad things."})
	began := r.clock.Now()
	_, _, err := r.create(newSpec())
	testkit.WantCode(t, err, sdk.Internal, "Bad things", "3 times") // a code that is not tried again
	if n := r.Requests()["POST /v2/pods"]; n != 3 {
		t.Errorf("rented %d times", n)
	}
	if waited := r.clock.Now().Sub(began); waited != 3*time.Minute {
		t.Errorf("looked for %s, not a minute after each attempt", waited)
	}
	r.wantLive()
}

// killer ends a call, and with it the program, before or after one of its requests
// has had its effect.
type killer struct {
	next  http.RoundTripper
	left  int // requests that pass
	after bool
	kill  context.CancelFunc
}

func (k *killer) RoundTrip(req *http.Request) (*http.Response, error) {
	k.left--
	if k.left == -1 {
		if k.after {
			if resp, err := k.next.RoundTrip(req.Clone(context.WithoutCancel(req.Context()))); err == nil {
				_ = resp.Body.Close()
			}
		}
		k.kill()
		return nil, context.Canceled
	}
	return k.next.RoundTrip(req)
}

// Wherever a start is killed, and however often it goes on, there is one machine.
func TestKilledAnywhere(t *testing.T) {
	for _, late := range []time.Duration{0, 15 * time.Second} {
		for _, fresh := range []bool{false, true} {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("list %s late, cursor lost %t, request made %t", late, fresh, after), func(t *testing.T) {
					killedAt := 0
					for ; killAndGoOn(t, late, fresh, after, killedAt); killedAt++ {
						if killedAt > 30 {
							t.Fatal("a start has no end")
						}
					}
					if killedAt < 5 {
						t.Errorf("a start with a volume has only %d requests", killedAt)
					}
				})
			}
		}
	}
}

// killAndGoOn kills one start twice at its request n, and lets it come to its end. It
// is false when there is no such request.
func killAndGoOn(t *testing.T, late time.Duration, fresh, after bool, n int) bool {
	r := newRig(t)
	defer r.Close()
	r.SetBehaviour(fakerunpod.Behaviour{ListDelay: late})
	spec := newSpec()
	spec.Offer, spec.Volumes = "", []sdk.Volume{{Name: "data", Path: "/data"}}
	var cursor json.RawMessage
	for range 2 {
		if fresh {
			cursor = nil
		}
		var handle string
		cursor, handle = r.killed(spec, cursor, n, after)
		if handle != "" {
			return false
		}
	}
	if fresh {
		cursor = nil
	}
	handle, log, err := r.goOn(spec, cursor)
	if err != nil {
		t.Fatalf("killed at request %d: %v", n, err)
	}
	if live := r.Live(); len(live) != 1 || live[0].ID != handle {
		t.Errorf("killed at request %d: the handle is %s and %d pods live: %+v\n%s", n, handle, len(live), live, strings.Join(log, "\n"))
	}
	if volumes := r.ask("GET", "/network-volumes", nil)["networkVolumes"].([]any); len(volumes) != 1 {
		t.Errorf("killed at request %d: volumes %v", n, volumes)
	}
	return true
}

// killed runs a start until its request n, and gives the last cursor that it saw.
func (r *rig) killed(spec sdk.MachineSpec, cursor json.RawMessage, n int, after bool) (json.RawMessage, string) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	p := r.provider(&killer{http.DefaultTransport, n, after, cancel})
	for range 60 {
		step, err := p.Create(ctx, spec, cursor)
		if err != nil {
			if ctx.Err() == nil {
				r.t.Fatal(err)
			}
			return cursor, ""
		}
		if step.Handle != "" {
			return nil, step.Handle
		}
		cursor = step.Cursor
		r.clock.Advance(time.Duration(step.AfterSeconds * float64(time.Second)))
	}
	r.t.Fatal("no handle after 60 steps")
	return nil, ""
}

func TestTwins(t *testing.T) {
	r := newRig(t)
	spec := newSpec()
	twin := map[string]any{"name": spec.Key + ".own-1.a.1900000000", "image": "x", "cpu": map[string]any{"id": "cpu5c", "vcpuCount": 2}}
	first := r.ask("POST", "/pods", twin)["id"]
	r.clock.Advance(time.Second)
	r.ask("POST", "/pods", twin)
	r.clock.Advance(-time.Hour)
	dead := r.ask("POST", "/pods", twin)["id"].(string)
	r.ask("POST", "/pods/"+dead+"/action", map[string]string{"action": "stop"})
	r.clock.Advance(time.Hour)
	handle, log, err := r.create(spec)
	if err != nil || handle != first || !strings.Contains(strings.Join(log, "\n"), "made twice") {
		t.Errorf("%s, %q, %v", handle, log, err)
	}
	r.wantLive(handle)
}

func TestVolume(t *testing.T) {
	r := newRig(t)
	spec := newSpec()
	spec.Offer = "NVIDIA L4"
	spec.Volumes = []sdk.Volume{{Name: "data", Path: "/data"}}
	for i := range 2 {
		spec.Key += "x"
		handle, log, err := r.create(spec)
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(strings.Join(log, "\n"), "it stays when the machine ends, and costs about $0.70 a month"); said != (i == 0) {
			t.Errorf("machine %d: log %q", i, log)
		}
		p := r.ask("GET", "/pods/"+handle, nil)
		if mount := fmt.Sprint(p["mounts"]); !strings.Contains(mount, "path:/data") || p["dataCenterId"] != "US-KS-2" {
			t.Errorf("%v in %v", mount, p["dataCenterId"])
		}
	}
	volumes := func() []any { return r.ask("GET", "/network-volumes", nil)["networkVolumes"].([]any) }
	if all := volumes(); len(all) != 1 || all[0].(map[string]any)["size"] != 10.0 {
		t.Errorf("volumes %v", all)
	}
	spec.Key, spec.Offer, spec.Volumes[0].SizeGB = "elsewhere", "NVIDIA L4@EU-SE-1,EU-RO-1", 30
	r.mustCreate(spec)
	if all := volumes(); len(all) != 2 || all[1].(map[string]any)["dataCenter"] != "EU-SE-1" || all[1].(map[string]any)["size"] != 30.0 {
		t.Errorf("volumes %v", all)
	}
	spec.Key, spec.Volumes[0].SizeGB = "larger", 50
	if _, log, err := r.create(spec); err != nil || !strings.Contains(log[0], "has 30 GB, not the 50 asked for") {
		t.Errorf("log %q, %v", log, err)
	}
	spec.Key, spec.Offer, spec.Volumes[0].Name = "nowhere", "NVIDIA L4@US-TX-3", "other"
	_, _, err := r.create(spec)
	testkit.WantCode(t, err, sdk.NoCapacity, "volume")
}

func TestVolumeWhoseAnswerIsLost(t *testing.T) {
	r := newRig(t)
	r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/network-volumes", Status: 500, After: true, Times: 1})
	spec := newSpec()
	spec.Volumes = []sdk.Volume{{Name: "data", Path: "/data"}}
	handle := r.mustCreate(spec)
	if n := r.Requests()["POST /v2/network-volumes"]; n != 1 {
		t.Errorf("made %d volumes", n)
	}
	entries, err := os.ReadDir(r.VolumeDir(""))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	r.wantLive(handle)

	r.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/network-volumes", Status: 500})
	spec.Key, spec.Volumes[0].Name = "second", "other"
	_, _, err = r.create(spec)
	testkit.WantCode(t, err, sdk.Internal, "making the volume other", "3 times")
}

func TestSpecsThatCannotBe(t *testing.T) {
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprint("V", i)] = ""
	}
	for name, tc := range map[string]struct {
		change func(*sdk.MachineSpec)
		code   sdk.Code
		words  string
	}{
		"key":         {func(s *sdk.MachineSpec) { s.Key = "a.b" }, sdk.Invalid, "a.b"},
		"owner":       {func(s *sdk.MachineSpec) { s.Owner = "" }, sdk.Invalid, "owner"},
		"variables":   {func(s *sdk.MachineSpec) { s.Env = many }, sdk.Invalid, "51"},
		"ports":       {func(s *sdk.MachineSpec) { s.Ports = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} }, sdk.Invalid, "at most 10 ports"},
		"port":        {func(s *sdk.MachineSpec) { s.Ports = []int{70000} }, sdk.Invalid, "70000"},
		"no port":     {func(s *sdk.MachineSpec) { s.Port = 0 }, sdk.Invalid, "not a port"},
		"command":     {func(s *sdk.MachineSpec) { s.Command = nil }, sdk.Invalid, "no command"},
		"NUL":         {func(s *sdk.MachineSpec) { s.Command = []string{"a\x00"} }, sdk.Invalid, "NUL"},
		"two volumes": {func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "a", Path: "/a"}, {Name: "b", Path: "/b"}} }, sdk.Invalid, "one volume"},
		"volume path": {func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "a", Path: "a"}} }, sdk.Invalid, "absolute"},
		"volume size": {func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "a", Path: "/a", SizeGB: 5000}} }, sdk.Invalid, "4096"},
		"read-only":   {func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "a", Path: "/a", ReadOnly: true}} }, sdk.Unsupported, "read-only"},
		"no network":  {func(s *sdk.MachineSpec) { s.Network = "none" }, sdk.Unsupported, "network: none"},
		"isolation":   {func(s *sdk.MachineSpec) { s.Isolation = "bubblewrap" }, sdk.Unsupported, "isolation"},
		"mounts":      {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/x"}} }, sdk.Unsupported, "/x"},
		"snapshot":    {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: "im-1"} }, sdk.Unsupported, "snapshots"},
		"image":       {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "a b"} }, sdk.Invalid, "a b"},
		"python":      {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonVersion: "2.7"} }, sdk.Invalid, "2.7"},
		"offer":       {func(s *sdk.MachineSpec) { s.Offer = "x;y" }, sdk.Invalid, "seer offers"},
		"option":      {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"clod":"SECURE"}`) }, sdk.Invalid, `"clod"`},
		"option type": {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"cuda":12.4}`) }, sdk.Invalid, "in quotes"},
		"options":     {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`[]`) }, sdk.Invalid, "mapping"},
		"cuda":        {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"cuda":"12"}`) }, sdk.Invalid, `"12"`},
		"cloud":       {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"cloud":"sky"}`) }, sdk.Invalid, "SKY"},
		"entrypoint":  {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"image_entrypoint":"no"}`) }, sdk.Invalid, "image_entrypoint"},
		"template":    {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"template":"a/b"}`) }, sdk.Invalid, "template"},
		"cloud volume": {func(s *sdk.MachineSpec) {
			s.Options = json.RawMessage(`{"cloud":"COMMUNITY"}`)
			s.Volumes = []sdk.Volume{{Name: "a", Path: "/a"}}
		}, sdk.Invalid, "no network volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			spec := newSpec()
			tc.change(&spec)
			_, _, err := r.create(spec)
			testkit.WantCode(t, err, tc.code, tc.words)
			if n := r.Requests()["POST /v2/pods"]; n != 0 {
				t.Error("something was rented")
			}
		})
	}
}

func TestTemplateAndRegistry(t *testing.T) {
	r := newRig(t)
	template := r.ask("POST", "/templates", map[string]any{"name": "t", "image": "of/template:1", "env": map[string]string{"T": "1"}})["id"].(string)
	registry := r.ask("POST", "/registries", map[string]any{"name": "r", "username": "u", "password": "p"})["id"].(string)
	spec := newSpec()
	spec.Options = json.RawMessage(`{"template":"` + template + `","registry":"` + registry + `"}`)
	p := r.ask("GET", "/pods/"+r.mustCreate(spec), nil)
	if env := p["env"].(map[string]any); p["image"] != "of/template:1" || p["registry"] != registry || p["args"] != "'sleep' '600'" || env["T"] != "1" || env["SEER_TRIAL"] != "a b" {
		t.Errorf("%v", p)
	}
	spec.Key, spec.Options = "none", json.RawMessage(`{"template":"nosuch"}`)
	_, _, err := r.create(spec)
	testkit.WantCode(t, err, sdk.NotFound, "renting cpu5c", "not found")
}
