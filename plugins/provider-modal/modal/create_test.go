package modal_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestLifeOfAMachine(t *testing.T) {
	for name, gpu := range map[string]string{"CPU": "", "GPU": "H100!"} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t, fakemodal.Options{})
			p := newProvider(t, cloud)
			spec := newSpec()
			spec.GPU, spec.GPUCount, spec.Offer = "H100", 2, gpu
			if gpu == "" {
				spec.GPU, spec.GPUCount = "", 0
			}
			spec.CPU, spec.MemoryGB, spec.Regions = 2, 4, []string{"us-east"}
			spec.Ports = []int{9000}
			spec.Labels = map[string]string{"team": "a b", "seer-key": "not this"}
			handle := testprovider.Create(t, p, spec)
			o := testprovider.Await(t, p, handle, sdk.Running)
			if len(o.Endpoints) != 2 || !strings.HasPrefix(o.Endpoints[0].URL, "http://127.0.0.1:") {
				t.Errorf("endpoints %v", o.Endpoints)
			}
			m := live(cloud)[0]
			if m.V2 != (gpu == "") || m.GPU != gpu || m.Name != spec.Key || m.App != "seer" {
				t.Errorf("machine %+v", m)
			}
			if m.Tags["seer-key"] != spec.Key || m.Tags["seer-owner"] != spec.Owner || m.Tags["seer-name"] != "trial" || !strings.HasPrefix(m.Tags["team"], "a-b") {
				t.Errorf("tags %v", m.Tags)
			}
			wantLive := func(n int) {
				t.Helper()
				list, err := p.List(t.Context(), spec.Owner)
				if err != nil || len(list) != n {
					t.Fatalf("list %v, %v", list, err)
				}
				if n > 0 && (list[0] != sdk.Listed{Handle: handle, Key: spec.Key, Owner: spec.Owner, State: sdk.Running, EndUnix: spec.EndUnix}) {
					t.Errorf("listed %+v", list[0])
				}
			}
			wantLive(1)
			for range 2 { // idempotent
				if err := p.Terminate(t.Context(), handle); err != nil {
					t.Fatal(err)
				}
			}
			testprovider.Await(t, p, handle, sdk.Stopped)
			wantLive(0)
			if err := p.Terminate(t.Context(), handle); err != nil {
				t.Errorf("terminating a dead one: %v", err)
			}
		})
	}
}

func TestPriceOfTheWholeMachine(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "A100-80GB", GPUCount: 2})
	if err != nil || len(offers) != 1 {
		t.Fatalf("offers %v, %v", offers, err)
	}
	spec.Offer, spec.GPU, spec.GPUCount = offers[0].ID, offers[0].GPU, 2
	o := testprovider.Await(t, p, testprovider.Create(t, p, spec), sdk.Running)
	if diff := o.CostPerHour - offers[0].CostPerHour; diff > 0.001 || diff < -0.001 {
		t.Errorf("observed at %v, offered at %v", o.CostPerHour, offers[0].CostPerHour)
	}
}

func TestBuildLogIsToldOnce(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{Pace: 30 * time.Millisecond})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.Image = &sdk.Image{
		PythonVersion: "3.11", SystemPackages: []string{"git"}, PythonPackages: []string{"numpy>=2", "torch"},
		Commands: []string{"echo one", "cat <<EOF\ntwo\nEOF"},
	}
	_, log, err := testprovider.Steps(t, p, spec, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(log, "\n")
	for _, want := range []string{"layer 1 of 5: python:3.11-slim", "Collecting numpy>=2", "Collecting torch", "layer 5 of 5: cat <<EOF …", "layer 3 of 5: pip install numpy>=2 torch"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is %d times in the log:\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Count(text, "Saving image...") != 5 {
		t.Errorf("not each layer was built once:\n%s", text)
	}
	spec.Key += "2"
	if _, log, err = testprovider.Steps(t, p, spec, nil, nil); err != nil || len(log) != 0 {
		t.Errorf("what is built was built again: %v, %v", log, err)
	}
}

func TestBuildThatFails(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	for name, tc := range map[string]struct {
		image     sdk.Image
		log, word string
	}{
		"pip":     {sdk.Image{PythonPackages: []string{"no-such-package"}}, "No matching distribution found for no-such-package", "pip install"},
		"apt":     {sdk.Image{SystemPackages: []string{"no-such-library"}}, "Unable to locate package no-such-library", "apt-get install"},
		"command": {sdk.Image{Commands: []string{"exit 3"}}, "Step 1: RUN exit 3", "non-zero code: 3"},
		"base":    {sdk.Image{Base: "no-such-image:latest"}, "failed to pull image", "no-such-image:latest"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := newSpec()
			spec.Image = &tc.image
			_, log, err := testprovider.Steps(t, p, spec, nil, nil)
			testkit.WantCode(t, err, sdk.Invalid, "the image could not be built", tc.word)
			if !strings.Contains(strings.Join(log, "\n"), tc.log) {
				t.Errorf("the log does not say %q:\n%s", tc.log, strings.Join(log, "\n"))
			}
			_, again, err := testprovider.Steps(t, p, spec, nil, nil) // a failed build is built again
			testkit.WantCode(t, err, sdk.Invalid)
			if len(again) == 0 {
				t.Error("the second time there is no log")
			}
		})
	}
	if len(cloud.Machines()) != 0 {
		t.Error("a machine was rented for an image that could not be built")
	}
}

func TestSpecsThatModalCannotServe(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	for name, tc := range map[string]struct {
		change func(*sdk.MachineSpec)
		code   sdk.Code
		word   string
	}{
		"unknown GPU":       {func(s *sdk.MachineSpec) { s.GPU = "RTX-9999" }, sdk.Invalid, "it has T4, L4"},
		"too many":          {func(s *sdk.MachineSpec) { s.GPU, s.GPUCount = "A10", 8 }, sdk.Invalid, "at most 4 of A10"},
		"unknown region":    {func(s *sdk.MachineSpec) { s.Regions = []string{"moon-1"} }, sdk.Invalid, "moon-1"},
		"unknown cloud":     {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"cloud":"nimbus"}`) }, sdk.Invalid, "nimbus"},
		"unknown option":    {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`{"spot":true}`) }, sdk.Invalid, `"spot"`},
		"options no map":    {func(s *sdk.MachineSpec) { s.Options = json.RawMessage(`[]`) }, sdk.Invalid, "mapping"},
		"life too long":     {func(s *sdk.MachineSpec) { s.TimeoutSeconds = 86401 }, sdk.Invalid, "24 hours"},
		"time is over":      {func(s *sdk.MachineSpec) { s.EndUnix = 1 }, sdk.Invalid, "time was over"},
		"isolation":         {func(s *sdk.MachineSpec) { s.Isolation = "bubblewrap" }, sdk.Unsupported, "bubblewrap"},
		"mount":             {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/a", Target: "/b"}} }, sdk.Unsupported, "mounted"},
		"snapshot is none":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: "x"} }, sdk.Invalid, "im-"},
		"snapshot is gone":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: "im-gone"} }, sdk.NotFound, "im-gone"},
		"python version":    {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonVersion: "2.7"} }, sdk.Invalid, "2.7"},
		"two Pythons":       {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "pytorch/pytorch", PythonVersion: "3.12"} }, sdk.Invalid, "its own Python"},
		"disk too large":    {func(s *sdk.MachineSpec) { s.DiskGB = 2000 }, sdk.Unsupported, "512 GB"},
		"two lines of base": {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "a\nRUN b"} }, sdk.Invalid, "registry"},
		"name of a volume":  {func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "a b", Path: "/v"}} }, sdk.Invalid, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := newSpec()
			tc.change(&spec)
			_, _, err := testprovider.Steps(t, p, spec, nil, nil)
			testkit.WantCode(t, err, tc.code, tc.word)
		})
	}
	if len(cloud.Machines()) != 0 {
		t.Errorf("machines were rented: %v", cloud.Machines())
	}
}

func TestListOfOneOwner(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{PageSize: 2})
	p := newProvider(t, cloud)
	want := map[string][]string{}
	for i, gpu := range []string{"", "T4", "", "L4", ""} {
		for _, owner := range []string{"owner-1", "owner 2"} {
			spec := newSpec()
			spec.Owner, spec.GPU = owner, gpu
			if i == 4 {
				spec.Options = json.RawMessage(`{"app":"other"}`)
			}
			want[owner] = append(want[owner], testprovider.Create(t, p, spec))
		}
	}
	for owner, handles := range want {
		list, err := p.List(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range list {
			got = append(got, l.Handle)
			if l.Owner != owner {
				t.Errorf("listed %+v for %s", l, owner)
			}
		}
		slices.Sort(got)
		slices.Sort(handles)
		if !slices.Equal(got, handles) {
			t.Errorf("%s has %v, listed %v", owner, handles, got)
		}
	}
	if list, err := p.List(t.Context(), "owner-3"); err != nil || len(list) != 0 {
		t.Errorf("a new owner has %v, %v", list, err)
	}
}

func TestCursorsOfOthers(t *testing.T) {
	p := newProvider(t, newCloud(t, fakemodal.Options{}))
	for _, cursor := range []string{`7`, `{"step":"later"}`, `{"step":"failed"}`} {
		_, err := p.Create(t.Context(), newSpec(), json.RawMessage(cursor))
		testkit.WantCode(t, err, sdk.Invalid, "cursor")
	}
}

func TestVolumes(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	var handles []string
	for i, command := range []string{
		"open('/models/a', 'w').write('kept')",
		"import os; raise SystemExit(0 if open('/models/a').read() == 'kept' else 1)",
	} {
		spec := newSpec()
		spec.GPU = []string{"", "T4"}[i]
		spec.Volumes = []sdk.Volume{{Name: "weights", Path: "/models"}}
		spec.Command = []string{"python3", "-c", command}
		handles = append(handles, testprovider.Create(t, p, spec))
		if o := testprovider.Await(t, p, handles[i], sdk.Stopped); o.Message != "its program has ended" {
			t.Errorf("observed %+v", o)
		}
	}
}

// The newer back end answers once the machine has its place, and drops what nobody waits for.
func TestCreationThatTakesMinutes(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	slowly(p, "SandboxCreateV2", 9*time.Minute)
	handle := testprovider.Create(t, p, newSpec())
	testprovider.Await(t, p, handle, sdk.Running)
}
