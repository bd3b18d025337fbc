package runpod_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/sdk"
)

func TestLifeOfAMachine(t *testing.T) {
	for name, q := range map[string]sdk.OfferQuery{"CPU": {CPU: 3}, "GPU": {GPU: "a100", GPUCount: 2, Regions: []string{"EU-RO"}}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			offers, err := r.Offers(t.Context(), q)
			if err != nil || len(offers) == 0 {
				t.Fatalf("offers: %v, %v", offers, err)
			}
			spec := newSpec()
			spec.Offer, spec.GPU, spec.GPUCount, spec.Regions = offers[0].ID, offers[0].GPU, offers[0].GPUCount, q.Regions
			spec.Ports = []int{9000, 8000}
			handle, log, err := r.create(spec)
			if err != nil || len(log) != 1 || !strings.Contains(log[0], "rented the pod "+handle) {
				t.Fatalf("%v, %q", err, log)
			}
			o := r.await(handle, sdk.Running)
			base := strings.NewReplacer("{pod}", handle, "{port}", "").Replace(r.ProxyURL())
			if !slices.Equal(o.Endpoints, []sdk.Endpoint{{Port: 8000, URL: base + "8000"}, {Port: 9000, URL: base + "9000"}}) {
				t.Errorf("endpoints %v", o.Endpoints)
			}
			if diff := offers[0].CostPerHour - o.CostPerHour; o.CostPerHour <= 0 || diff < 0 || diff > 0.01 {
				t.Errorf("costs %v, was offered at %v", o.CostPerHour, offers[0].CostPerHour)
			}
			want := sdk.Listed{Handle: handle, Key: spec.Key, Owner: spec.Owner, State: sdk.Running, EndUnix: spec.EndUnix}
			if list, err := r.List(t.Context(), spec.Owner); err != nil || !slices.Equal(list, []sdk.Listed{want}) {
				t.Errorf("list %+v, %v", list, err)
			}
			r.wantLive(handle)
			for range 2 { // idempotent
				if err := r.Terminate(t.Context(), handle); err != nil {
					t.Fatal(err)
				}
			}
			r.wantLive()
			if o := r.observe(handle); o.State != sdk.Stopped || o.Message == "" || o.CostPerHour != 0 {
				t.Errorf("after its end: %+v", o)
			}
			if list, err := r.List(t.Context(), spec.Owner); err != nil || len(list) != 0 {
				t.Errorf("list after its end: %v, %v", list, err)
			}
		})
	}
}

func TestWhatIsAskedFor(t *testing.T) {
	r := newRig(t)
	spec := newSpec()
	spec.Offer, spec.GPUCount, spec.CPU, spec.MemoryGB, spec.DiskGB = "NVIDIA A40@EU-SE-1,EU-RO-1", 2, 9, 61, 33
	spec.Image = &sdk.Image{PythonVersion: "3.11"}
	spec.Options = json.RawMessage(`{"cuda":"12.4","cloud":"secure"}`)
	handle := r.mustCreate(spec)
	p := r.ask("GET", "/pods/"+handle, nil)
	for name, want := range map[string]any{
		"name": spec.Key + ".own-1.a.1900000000", "image": "python:3.11-slim", "args": "'sleep' '600'", "disk": 33.0, "cloud": "SECURE",
		"dataCenterId": "EU-RO-1", "gpu": map[string]any{"id": "NVIDIA A40", "count": 2.0}, "ports": []any{"8000/http"},
	} {
		if got := p[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	env := p["env"].(map[string]any)
	if len(env) != 2 || env["SEER_TRIAL"] != "a b" {
		t.Errorf("env %v", env)
	}
	var end sdk.SelfEnd
	if err := json.Unmarshal([]byte(env[sdk.SelfEndVariable].(string)), &end); err != nil || end.Method != "DELETE" ||
		end.URL != r.URL()+"/v2/pods/{RUNPOD_POD_ID}" || end.Headers["Authorization"] != "Bearer {RUNPOD_API_KEY}" || end.Headers["User-Agent"] == "" {
		t.Errorf("self-end %+v, %v", end, err)
	}
	if strings.Contains(fmt.Sprint(p), r.key) {
		t.Error("the user's key is on the machine")
	}
}

// tell writes what the program was given to a file of its volume.
const tell = `import json, os, sys
with open(sys.argv[1] + "/told", "w") as f: json.dump([sys.argv[2:], os.environ["SEER_TRIAL"]], f)
os.rename(sys.argv[1] + "/told", sys.argv[1] + "/heard")
import time; time.sleep(600)`

func TestProgramGetsItsWords(t *testing.T) {
	words := []string{"", "a b", "it's", `"`, `\`, "$HOME `id` #", "a\nb\t", "ü", "{}", "-c", `\'`, "'", "<&>"}
	for _, entrypoint := range []string{"keep", "replace"} {
		t.Run(entrypoint, func(t *testing.T) {
			r := newRig(t)
			spec := newSpec()
			spec.Options = json.RawMessage(`{"image_entrypoint":"` + entrypoint + `"}`)
			spec.Volumes = []sdk.Volume{{Name: "data", Path: "/workspace/data"}}
			folder := t.TempDir()
			spec.Command = append([]string{"python3", "-c", tell, folder}, words...)
			r.mustCreate(spec)
			var text []byte
			r.eventually("the program runs", func() (ok bool) {
				var err error
				text, err = os.ReadFile(filepath.Join(folder, "heard"))
				return err == nil
			})
			want, err := json.Marshal([]any{words, "a b"})
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(decoded(t, text)) != fmt.Sprint(decoded(t, want)) {
				t.Errorf("told %s, not %s", text, want)
			}
		})
	}
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// bootable is a machine with the real loader.
func bootable(t *testing.T, seconds float64) sdk.MachineSpec {
	t.Helper()
	spec := newSpec()
	env, err := loader.BootEnv(loader.Boot{Listen: "tcp:0.0.0.0:8000", AdminSHA256: strings.Repeat("0", 64), BootSeconds: seconds})
	if err != nil {
		t.Fatal(err)
	}
	spec.Command, spec.Env = loader.Command("python3"), env
	return spec
}

func TestLoaderIsReached(t *testing.T) {
	r := newRig(t)
	o := r.await(r.mustCreate(bootable(t, 600)), sdk.Running)
	r.eventually("the loader answers", func() bool {
		resp, err := http.Get(o.Endpoints[0].URL + "/loader/v1")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.Header.Get("Seer") == "1"
	})
}

// The loader, to which nobody comes, ends the machine with the pod's own key.
func TestMachineEndsItself(t *testing.T) {
	r := newRig(t)
	handle := r.mustCreate(bootable(t, 0.2))
	r.eventually("nothing costs money", func() bool { return len(r.Live()) == 0 })
	if o := r.observe(handle); o.State != sdk.Stopped {
		t.Errorf("%+v", o)
	}
	if n := r.Requests()["DELETE /v2/pods/{id}"]; n != 1 {
		t.Errorf("ended %d times", n)
	}
}

func TestStates(t *testing.T) {
	r := newRig(t, func(o *fakerunpod.Options) { o.Delays.Pull = time.Hour })
	r.SetBehaviour(fakerunpod.Behaviour{StuckProvisioning: true, UnknownFields: true})
	stuck := r.mustCreate(newSpec())
	r.SetBehaviour(fakerunpod.Behaviour{DieStarting: true, UnknownFields: true})
	dying := r.mustCreate(newSpec())
	r.SetBehaviour(fakerunpod.Behaviour{UnknownFields: true})
	pulling := r.mustCreate(newSpec())
	stopped := r.mustCreate(newSpec())
	r.ask("POST", "/pods/"+stopped+"/action", map[string]string{"action": "stop"})
	r.await(dying, sdk.Failed)
	r.eventually("it is being pulled", func() bool { return strings.Contains(r.observe(pulling).Message, "pulled") })

	before := r.Requests()
	all, err := r.Observe(t.Context(), []string{pulling, stuck, dying, stopped})
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []struct {
		state sdk.State
		text  string
	}{{sdk.Starting, "pulled"}, {sdk.Starting, "looking for a machine"}, {sdk.Failed, "container"}, {sdk.Stopped, "stopped"}} {
		if all[i].State != want.state || !strings.Contains(all[i].Message, want.text) || len(all[i].Endpoints) != 0 {
			t.Errorf("%+v is not %v", all[i], want)
		}
	}
	if n := sum(r.Requests()) - sum(before); n != 1 {
		t.Errorf("%d requests for 4 machines", n)
	}
}

func sum(requests map[string]int) (n int) {
	for _, k := range requests {
		n += k
	}
	return n
}

func TestListThatIsLate(t *testing.T) {
	r := newRig(t)
	r.SetBehaviour(fakerunpod.Behaviour{ListDelay: 10 * time.Minute})
	handle := r.mustCreate(newSpec())
	if o := r.await(handle, sdk.Running); len(o.Endpoints) != 1 {
		t.Errorf("%+v", o)
	}
	all, err := r.Observe(t.Context(), []string{"unknown", handle, "not an id/../x"})
	if err != nil || len(all) != 3 || all[0].State != sdk.Stopped || all[1].State != sdk.Running || all[2].State != sdk.Stopped {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPodsOfOthers(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"mine", "a.b", "k.own-1.a.", "k.own-1.a.-5", "k.own-1.a.007", ".own-1.a.5", "k.own-1.b.5"} {
		r.ask("POST", "/pods", map[string]any{"name": name, "image": "x", "cpu": map[string]any{"id": "cpu5c", "vcpuCount": 2}})
	}
	if list, err := r.List(t.Context(), "own-1.a"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	handle := r.mustCreate(newSpec())
	if list, err := r.List(t.Context(), "own-1.a"); err != nil || len(list) != 1 || list[0].Handle != handle {
		t.Errorf("%v, %v", list, err)
	}
	if n := len(r.Live()); n != 8 {
		t.Errorf("%d pods live: others were touched", n)
	}
}

// Each way in which a pod is told to end itself ends what it costs.
func TestWaysToEndItself(t *testing.T) {
	r := newRig(t)
	handle := r.mustCreate(newSpec())
	var end sdk.SelfEnd
	if err := json.Unmarshal([]byte(r.Live()[0].Env[sdk.SelfEndVariable]), &end); err != nil || len(end.Otherwise) == 0 {
		t.Fatalf("%+v, %v", end, err)
	}
	for i, way := range append([]sdk.SelfEndRequest{{Method: end.Method, URL: end.URL}}, end.Otherwise...) {
		if i > 0 {
			spec := newSpec()
			handle = r.mustCreate(spec)
		}
		url := strings.ReplaceAll(way.URL, "{RUNPOD_POD_ID}", handle)
		req, err := http.NewRequestWithContext(t.Context(), way.Method, url, strings.NewReader(way.Body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range end.Headers {
			req.Header.Set(name, strings.ReplaceAll(value, "{RUNPOD_API_KEY}", r.key))
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 2 || len(r.Live()) != 0 {
			t.Errorf("%s %s %s: %s, and %d pods cost money", way.Method, url, way.Body, resp.Status, len(r.Live()))
		}
	}
}

// A list that comes in pages is followed to its end.
func TestListInPages(t *testing.T) {
	r := newRig(t)
	r.SetBehaviour(fakerunpod.Behaviour{PageSize: 2})
	var handles []string
	for range 5 {
		handles = append(handles, r.mustCreate(newSpec()))
	}
	listed, err := r.List(t.Context(), newSpec().Owner)
	if err != nil || len(listed) != len(handles) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	r.wantLive(handles...)
}
