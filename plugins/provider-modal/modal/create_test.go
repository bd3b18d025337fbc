package modal_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seer-engine/seer/engine/enginetest/modalcloud"
	"github.com/seer-engine/seer/sdk"
)

func TestLifeOfAMachine(t *testing.T) {
	for name, gpu := range map[string]string{"CPU": "", "GPU": "H100!"} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t, modalcloud.Options{})
			p := newProvider(t, cloud)
			spec := newSpec()
			spec.GPU, spec.GPUCount, spec.Offer = "H100", 2, gpu
			if gpu == "" {
				spec.GPU, spec.GPUCount = "", 0
			}
			spec.CPU, spec.MemoryGB, spec.Regions = 2, 4, []string{"us-east"}
			spec.Ports = []int{9000}
			spec.Labels = map[string]string{"team": "a b", "seer-key": "not this"}
			handle := mustCreate(t, p, spec)
			o := await(t, p, handle, sdk.Running)
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
			await(t, p, handle, sdk.Stopped)
			wantLive(0)
			if err := p.Terminate(t.Context(), handle); err != nil {
				t.Errorf("terminating a dead one: %v", err)
			}
		})
	}
}

func TestPriceOfTheWholeMachine(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "A100-80GB", GPUCount: 2})
	if err != nil || len(offers) != 1 {
		t.Fatalf("offers %v, %v", offers, err)
	}
	spec.Offer, spec.GPU, spec.GPUCount = offers[0].ID, offers[0].GPU, 2
	o := await(t, p, mustCreate(t, p, spec), sdk.Running)
	if diff := o.CostPerHour - offers[0].CostPerHour; diff > 0.001 || diff < -0.001 {
		t.Errorf("observed at %v, offered at %v", o.CostPerHour, offers[0].CostPerHour)
	}
}

func TestBuildLogIsToldOnce(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{Pace: 30 * time.Millisecond})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.Image = &sdk.Image{
		PythonVersion: "3.11", SystemPackages: []string{"git"}, PythonPackages: []string{"numpy>=2", "torch"},
		Commands: []string{"echo one", "cat <<EOF\ntwo\nEOF"},
	}
	_, log, err := create(t, p, spec)
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
	if _, log, err = create(t, p, spec); err != nil || len(log) != 0 {
		t.Errorf("what is built was built again: %v, %v", log, err)
	}
}

func TestBuildThatFails(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
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
			_, log, err := create(t, p, spec)
			wantCode(t, err, sdk.Invalid, "the image could not be built", tc.word)
			if !strings.Contains(strings.Join(log, "\n"), tc.log) {
				t.Errorf("the log does not say %q:\n%s", tc.log, strings.Join(log, "\n"))
			}
			_, again, err := create(t, p, spec) // a failed build is built again
			wantCode(t, err, sdk.Invalid)
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
	cloud := newCloud(t, modalcloud.Options{})
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
			_, _, err := create(t, p, spec)
			wantCode(t, err, tc.code, tc.word)
		})
	}
	if len(cloud.Machines()) != 0 {
		t.Errorf("machines were rented: %v", cloud.Machines())
	}
}

func TestNothingLeft(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{MaxGPUs: 1})
	p := newProvider(t, cloud)
	for text, code := range map[string]sdk.Code{
		"Insufficient capacity to create sandbox.":             sdk.NoCapacity,
		"Workspace limit of 10 concurrent GPUs reached":        sdk.Unauthorized,
		"Your workspace has used up its credit for this month": sdk.Unauthorized,
		"Rate limit exceeded: too many sandbox creations":      sdk.RateLimited,
		"RESOURCE_EXHAUSTED":                                   sdk.RateLimited,
	} {
		setFaults(t, cloud, modalcloud.Faults{Exhausted: text})
		_, _, err := create(t, p, newSpec())
		wantCode(t, err, code)
	}
	setFaults(t, cloud, modalcloud.Faults{})
	spec := newSpec()
	spec.GPU, spec.GPUCount = "H100", 2
	_, _, err := create(t, p, spec)
	wantCode(t, err, sdk.Unauthorized, "1 concurrent GPUs")
}

// A machine for which there is no place is there at once, waits, and can be ended.
func TestMachineWaitsForItsPlace(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, modalcloud.Faults{NoCapacity: []string{"H100"}})
	spec := newSpec()
	spec.GPU = "H100"
	first, second := mustCreate(t, p, spec), ""
	if o := observe(t, p, first); o.State != sdk.Pending || o.Message == "" {
		t.Errorf("observed %+v", o)
	}
	if list, err := p.List(t.Context(), spec.Owner); err != nil || len(list) != 1 || list[0].State != sdk.Pending {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := p.Terminate(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	await(t, p, first, sdk.Stopped)
	spec.Key += "2"
	second = mustCreate(t, p, spec)
	setFaults(t, cloud, modalcloud.Faults{})
	await(t, p, second, sdk.Running)
}

func TestMachineThatDies(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	for name, tc := range map[string]struct {
		command []string
		timeout int64
		state   sdk.State
		word    string
	}{
		"fails": {[]string{"python3", "-c", "raise SystemExit(7)"}, 60, sdk.Failed, "exit code 7"},
		"ends":  {[]string{"python3", "-c", ""}, 60, sdk.Stopped, "its program has ended"},
		"time":  {newSpec().Command, 1, sdk.Stopped, "its time was over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := newSpec()
			spec.Command, spec.TimeoutSeconds = tc.command, tc.timeout
			if o := await(t, p, mustCreate(t, p, spec), tc.state); !strings.Contains(o.Message, tc.word) {
				t.Errorf("observed %+v", o)
			}
		})
	}
}

func TestUnknownHandles(t *testing.T) {
	p := newProvider(t, newCloud(t, modalcloud.Options{}))
	handles := []string{"sb-0123456789abcdefghijkl", "sb-unknown", "pod-1", ""}
	all, err := p.Observe(t.Context(), handles)
	if err != nil || len(all) != len(handles) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, o := range all {
		if o.State != sdk.Stopped {
			t.Errorf("observed %+v", o)
		}
	}
	for _, handle := range handles {
		if err := p.Terminate(t.Context(), handle); err != nil {
			t.Errorf("terminating %q: %v", handle, err)
		}
	}
}

// Whatever is lost or repeated on the way, one key is one machine.
func TestOneKeyIsOneMachine(t *testing.T) {
	own := []string{"SandboxCreate*", "SandboxGetFromName*", "SandboxTagsGet*"} // of one back end
	common := []string{"AppGetOrCreate", "EnvironmentGetOrCreate", "ImageGetOrCreate", "ImageJoinStreaming", "WorkspaceBillingRates",
		"SecretGetOrCreate", "AuthTokenGet"}
	for gpu, methods := range map[string][]string{"": own, "T4": slices.Concat(common, own)} {
		for _, method := range methods {
			for how, fault := range map[string]modalcloud.CallFault{
				"lost answer":      {Method: method, Cut: true, AfterEffect: true, Times: 1},
				"storm":            {Method: method, Code: codes.Unavailable, AfterEffect: true, Times: 5}, // more than the SDK repeats
				"asked to be slow": {Method: method, Code: codes.ResourceExhausted, RetryAfter: time.Millisecond, Times: 2},
			} {
				t.Run(strings.Join([]string{gpu, method, how}, "/"), func(t *testing.T) {
					t.Parallel()
					oneKey(t, gpu, fault)
				})
			}
		}
	}
}

// oneKey repeats each step of a start as the engine does, and each with an old cursor.
func oneKey(t *testing.T, gpu string, fault modalcloud.CallFault) {
	cloud := newCloud(t, modalcloud.Options{Pace: time.Microsecond})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.GPU = gpu
	setFaults(t, cloud, modalcloud.Faults{Calls: []modalcloud.CallFault{fault}})
	cursors := []json.RawMessage{nil}
	handles := map[string]bool{}
	step := func(cursor json.RawMessage) sdk.CreateStep {
		for range 20 {
			step, err := p.Create(t.Context(), spec, cursor)
			if err == nil {
				return step
			}
			if code := sdk.CodeOf(err); code != sdk.Unavailable && code != sdk.RateLimited {
				t.Fatalf("%v has the code %s", err, code)
			}
		}
		t.Fatal("the fault does not pass")
		return sdk.CreateStep{}
	}
	for len(handles) == 0 {
		s := step(cursors[len(cursors)-1])
		if s.Handle != "" {
			handles[s.Handle] = true
		} else {
			cursors = append(cursors, s.Cursor)
		}
	}
	for _, old := range cursors {
		for s := step(old); ; s = step(s.Cursor) {
			if s.Handle != "" {
				handles[s.Handle] = true
				break
			}
		}
	}
	if machines := cloud.Machines(); len(machines) != 1 || len(handles) != 1 {
		t.Errorf("%d machines, handles %v", len(machines), handles)
	}
	list, err := p.List(t.Context(), spec.Owner)
	if err != nil || len(list) != 1 || !handles[list[0].Handle] {
		t.Errorf("listed %v, %v; handles %v", list, err, handles)
	}
}

// A sandbox of somebody else's that has our name is left alone.
func TestNameOfAnother(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	mustCreate(t, p, spec)
	spec.Owner = "owner-2"
	_, _, err := create(t, p, spec)
	wantCode(t, err, sdk.Invalid, "not ours")
	spec.Options = json.RawMessage(`{"app":"other"}`)
	mustCreate(t, p, spec)
	if n := len(live(cloud)); n != 2 {
		t.Errorf("%d machines", n)
	}
}

func TestListOfOneOwner(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{PageSize: 2})
	p := newProvider(t, cloud)
	want := map[string][]string{}
	for i, gpu := range []string{"", "T4", "", "L4", ""} {
		for _, owner := range []string{"owner-1", "owner 2"} {
			spec := newSpec()
			spec.Owner, spec.GPU = owner, gpu
			if i == 4 {
				spec.Options = json.RawMessage(`{"app":"other"}`)
			}
			want[owner] = append(want[owner], mustCreate(t, p, spec))
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

func TestWrongToken(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, modalcloud.Faults{TokenRevoked: true})
	_, err := p.Offers(t.Context(), sdk.OfferQuery{})
	wantCode(t, err, sdk.Unauthorized, "MODAL_TOKEN_ID", "modal.com/settings/tokens")
	_, _, err = create(t, p, newSpec())
	wantCode(t, err, sdk.Unauthorized)
	setFaults(t, cloud, modalcloud.Faults{})
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{}); err != nil {
		t.Errorf("with a good token again: %v", err)
	}
	other := newProvider(t, cloud, "environment", "elsewhere")
	_, err = other.Offers(t.Context(), sdk.OfferQuery{})
	wantCode(t, err, sdk.NotFound, "elsewhere")
}

func TestCancelledCallsEnd(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	handle := mustCreate(t, p, newSpec())
	setFaults(t, cloud, modalcloud.Faults{Calls: []modalcloud.CallFault{{Method: "*", Hang: true}}})
	for name, call := range map[string]func(context.Context) error{
		"offers":    func(ctx context.Context) error { _, err := p.Offers(ctx, sdk.OfferQuery{}); return err },
		"create":    func(ctx context.Context) error { _, err := p.Create(ctx, newSpec(), nil); return err },
		"observe":   func(ctx context.Context) error { _, err := p.Observe(ctx, []string{handle}); return err },
		"list":      func(ctx context.Context) error { _, err := p.List(ctx, "owner-1"); return err },
		"terminate": func(ctx context.Context) error { return p.Terminate(ctx, handle) },
		"snapshot":  func(ctx context.Context) error { _, err := p.Snapshot(ctx, handle, "k", nil); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestCursorsOfOthers(t *testing.T) {
	p := newProvider(t, newCloud(t, modalcloud.Options{}))
	for _, cursor := range []string{`7`, `{"step":"later"}`, `{"step":"failed"}`} {
		_, err := p.Create(t.Context(), newSpec(), json.RawMessage(cursor))
		wantCode(t, err, sdk.Invalid, "cursor")
	}
}

// How long Modal asks to wait is the engine's to keep.
func TestAskedToWait(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	handle := mustCreate(t, p, newSpec())
	setFaults(t, cloud, modalcloud.Faults{Calls: []modalcloud.CallFault{{Method: "SandboxWait*", Code: codes.ResourceExhausted, RetryAfter: 7 * time.Second}}})
	_, err := p.Observe(t.Context(), []string{handle})
	var limited *sdk.Error
	if !errors.As(err, &limited) || limited.Code != sdk.RateLimited || limited.After() != 7*time.Second {
		t.Errorf("error %#v", err)
	}
}

// A machine whose end Modal refuses is not said to have ended.
func TestRefusedTermination(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	handle := mustCreate(t, p, newSpec())
	setFaults(t, cloud, modalcloud.Faults{Calls: []modalcloud.CallFault{{Method: "SandboxTerminate*", Code: codes.FailedPrecondition}}})
	wantCode(t, p.Terminate(t.Context(), handle), sdk.Invalid)
	setFaults(t, cloud, modalcloud.Faults{Down: true})
	wantCode(t, p.Terminate(t.Context(), handle), sdk.Unavailable)
	setFaults(t, cloud, modalcloud.Faults{})
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Error(err)
	}
	await(t, p, handle, sdk.Stopped)
}

func TestMachineThatNoTunnelReaches(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, modalcloud.Faults{TunnelNever: true})
	handle := mustCreate(t, p, newSpec())
	if o := observe(t, p, handle); o.State != sdk.Starting || len(o.Endpoints) != 0 {
		t.Errorf("observed %+v", o)
	}
	if err := cloud.KillMachine(handle); err != nil {
		t.Fatal(err)
	}
	await(t, p, handle, sdk.Failed)
}

// What is remembered of a machine does not outlive it.
func TestMachineThatIsLost(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.GPU = "T4"
	handle := mustCreate(t, p, spec)
	await(t, p, handle, sdk.Running)
	await(t, p, handle, sdk.Running)
	if err := cloud.KillMachine(handle); err != nil {
		t.Fatal(err)
	}
	if o := await(t, p, handle, sdk.Failed); !strings.Contains(o.Message, "lost") {
		t.Errorf("observed %+v", o)
	}
	setFaults(t, cloud, modalcloud.Faults{DiesStarting: true})
	spec.Key += "2"
	if o := await(t, p, mustCreate(t, p, spec), sdk.Failed); !strings.Contains(o.Message, "failed to start") {
		t.Errorf("observed %+v", o)
	}
}

func TestVolumes(t *testing.T) {
	cloud := newCloud(t, modalcloud.Options{})
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
		handles = append(handles, mustCreate(t, p, spec))
		if o := await(t, p, handles[i], sdk.Stopped); o.Message != "its program has ended" {
			t.Errorf("observed %+v", o)
		}
	}
}
