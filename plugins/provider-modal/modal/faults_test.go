package modal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestNothingLeft(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{MaxGPUs: 1})
	p := newProvider(t, cloud)
	for text, code := range map[string]sdk.Code{
		"Insufficient capacity to create sandbox.":             sdk.NoCapacity,
		"Workspace limit of 10 concurrent GPUs reached":        sdk.Unauthorized,
		"Your workspace has used up its credit for this month": sdk.Unauthorized,
		"Rate limit exceeded: too many sandbox creations":      sdk.RateLimited,
		"RESOURCE_EXHAUSTED":                                   sdk.RateLimited,
		"no capacity\x1b]0;\a\r\nhere":                         sdk.NoCapacity,
	} {
		setFaults(t, cloud, fakemodal.Faults{Exhausted: text})
		_, _, err := testprovider.Steps(t, p, newSpec(), nil, nil)
		testkit.WantCode(t, err, code)
		if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q is not for a terminal", err)
		}
	}
	setFaults(t, cloud, fakemodal.Faults{})
	spec := newSpec()
	spec.GPU, spec.GPUCount = "H100", 2
	_, _, err := testprovider.Steps(t, p, spec, nil, nil)
	testkit.WantCode(t, err, sdk.Unauthorized, "1 concurrent GPUs")
}

// A machine for which there is no place is there at once, waits, and can be ended.
func TestMachineWaitsForItsPlace(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{NoCapacity: []string{"H100"}})
	spec := newSpec()
	spec.GPU = "H100"
	first, second := testprovider.Create(t, p, spec), ""
	if o := testprovider.Observe(t, p, first); o.State != sdk.Pending || o.Message == "" {
		t.Errorf("observed %+v", o)
	}
	if list, err := p.List(t.Context(), spec.Owner); err != nil || len(list) != 1 || list[0].State != sdk.Pending {
		t.Errorf("listed %v, %v", list, err)
	}
	if err := p.Terminate(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	testprovider.Await(t, p, first, sdk.Stopped)
	spec.Key += "2"
	second = testprovider.Create(t, p, spec)
	setFaults(t, cloud, fakemodal.Faults{})
	testprovider.Await(t, p, second, sdk.Running)
}

func TestMachineThatDies(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
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
			if o := testprovider.Await(t, p, testprovider.Create(t, p, spec), tc.state); !strings.Contains(o.Message, tc.word) {
				t.Errorf("observed %+v", o)
			}
		})
	}
}

func TestUnknownHandles(t *testing.T) {
	p := newProvider(t, newCloud(t, fakemodal.Options{}))
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
			for how, fault := range map[string]fakemodal.CallFault{
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
func oneKey(t *testing.T, gpu string, fault fakemodal.CallFault) {
	cloud := newCloud(t, fakemodal.Options{Pace: time.Microsecond})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.GPU = gpu
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{fault}})
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
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	testprovider.Create(t, p, spec)
	spec.Owner = "owner-2"
	_, _, err := testprovider.Steps(t, p, spec, nil, nil)
	testkit.WantCode(t, err, sdk.Invalid, "not ours")
	spec.Options = json.RawMessage(`{"app":"other"}`)
	testprovider.Create(t, p, spec)
	if n := len(live(cloud)); n != 2 {
		t.Errorf("%d machines", n)
	}
}

func TestWrongToken(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{TokenRevoked: true})
	_, err := p.Offers(t.Context(), sdk.OfferQuery{})
	testkit.WantCode(t, err, sdk.Unauthorized, "MODAL_TOKEN_ID", "modal.com/settings/tokens")
	_, _, err = testprovider.Steps(t, p, newSpec(), nil, nil)
	testkit.WantCode(t, err, sdk.Unauthorized)
	setFaults(t, cloud, fakemodal.Faults{})
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{}); err != nil {
		t.Errorf("with a good token again: %v", err)
	}
	other := newProvider(t, cloud, "environment", "elsewhere")
	_, err = other.Offers(t.Context(), sdk.OfferQuery{})
	testkit.WantCode(t, err, sdk.NotFound, "elsewhere")
}

func TestCancelledCallsEnd(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, newSpec())
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "*", Hang: true}}})
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

// How long Modal asks to wait is the engine's to keep.
func TestAskedToWait(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, newSpec())
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "SandboxWait*", Code: codes.ResourceExhausted, RetryAfter: 7 * time.Second}}})
	_, err := p.Observe(t.Context(), []string{handle})
	var limited *sdk.Error
	if !errors.As(err, &limited) || limited.Code != sdk.RateLimited || limited.After() != 7*time.Second {
		t.Errorf("error %#v", err)
	}
}

// A machine whose end Modal refuses is not said to have ended.
func TestRefusedTermination(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	handle := testprovider.Create(t, p, newSpec())
	setFaults(t, cloud, fakemodal.Faults{Calls: []fakemodal.CallFault{{Method: "SandboxTerminate*", Code: codes.FailedPrecondition}}})
	testkit.WantCode(t, p.Terminate(t.Context(), handle), sdk.Invalid)
	setFaults(t, cloud, fakemodal.Faults{Down: true})
	testkit.WantCode(t, p.Terminate(t.Context(), handle), sdk.Unavailable)
	setFaults(t, cloud, fakemodal.Faults{})
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Error(err)
	}
	testprovider.Await(t, p, handle, sdk.Stopped)
}

func TestMachineThatNoTunnelReaches(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{TunnelNever: true})
	handle := testprovider.Create(t, p, newSpec())
	if o := testprovider.Observe(t, p, handle); o.State != sdk.Starting || len(o.Endpoints) != 0 {
		t.Errorf("observed %+v", o)
	}
	if err := cloud.KillMachine(handle); err != nil {
		t.Fatal(err)
	}
	testprovider.Await(t, p, handle, sdk.Failed)
}

// What is remembered of a machine does not outlive it.
func TestMachineThatIsLost(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.GPU = "T4"
	handle := testprovider.Create(t, p, spec)
	testprovider.Await(t, p, handle, sdk.Running)
	testprovider.Await(t, p, handle, sdk.Running)
	if err := cloud.KillMachine(handle); err != nil {
		t.Fatal(err)
	}
	if o := testprovider.Await(t, p, handle, sdk.Failed); !strings.Contains(o.Message, "lost") {
		t.Errorf("observed %+v", o)
	}
	setFaults(t, cloud, fakemodal.Faults{DiesStarting: true})
	spec.Key += "2"
	if o := testprovider.Await(t, p, testprovider.Create(t, p, spec), sdk.Failed); !strings.Contains(o.Message, "failed to start") {
		t.Errorf("observed %+v", o)
	}
}

// Calls that are given up at any moment, and repeated with the last cursor that came
// back or with none, make one machine.
func TestStartsGivenUpAnywhere(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{Pace: time.Microsecond, MaxGPUs: 1000, MaxMachines: 1000})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{Latency: time.Millisecond})
	random := rand.New(rand.NewPCG(1, 2))
	const starts = 60
	for i := range starts {
		spec := newSpec()
		spec.GPU = []string{"", "T4"}[i%2]
		spec.Image = &sdk.Image{Commands: []string{fmt.Sprintf("echo %d", i)}}
		handle := startGivingUp(t, p, spec, random)
		if list, err := p.List(t.Context(), spec.Owner); err != nil || len(list) != 1 || list[0].Handle != handle {
			t.Fatalf("start %d has %v, %v; its handle is %s", i, list, err, handle)
		}
		if err := p.Terminate(t.Context(), handle); err != nil {
			t.Fatal(err)
		}
		testprovider.Await(t, p, handle, sdk.Stopped)
	}
	if n := len(cloud.Machines()); n != starts {
		t.Errorf("%d machines for %d keys", n, starts)
	}
}

func startGivingUp(t *testing.T, p sdk.Provider, spec sdk.MachineSpec, random *rand.Rand) string {
	t.Helper()
	var cursor json.RawMessage
	for tries := range 1000 {
		patience := time.Duration(1+random.IntN(6+tries)) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		step, err := p.Create(ctx, spec, cursor)
		cancel()
		switch {
		case err != nil && sdk.CodeOf(err) != sdk.Unavailable:
			t.Fatal(err)
		case err != nil && random.IntN(10) == 0:
			cursor = nil // another program goes on
		case err == nil && step.Handle != "":
			return step.Handle
		case err == nil:
			cursor = step.Cursor
		}
	}
	t.Fatal("no handle after 1000 calls")
	return ""
}

// Modal may refuse a list that names no app: machines are found in each app all the same.
func TestListByApp(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{PageSize: 2})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{ListsByApp: true})
	spec := newSpec()
	if list, err := p.List(t.Context(), spec.Owner); err != nil || len(list) != 0 {
		t.Errorf("without any app: %v, %v", list, err)
	}
	want := map[string]bool{}
	for i, app := range []string{"", "another", "another", ""} {
		spec.Key += "x"
		if i == 3 {
			spec.GPU = "L4"
		}
		spec.Options = nil
		if app != "" {
			spec.Options = json.RawMessage(`{"app":"` + app + `"}`)
		}
		want[testprovider.Create(t, p, spec)] = true
	}
	list, err := p.List(t.Context(), spec.Owner)
	for _, m := range list {
		delete(want, m.Handle)
	}
	if err != nil || len(list) != 4 || len(want) != 0 {
		t.Errorf("listed %v, %v; missing %v", list, err, want)
	}
}

// A machine whose tunnels have failed is not waited for.
func TestTunnelsFail(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{})
	p := newProvider(t, cloud)
	setFaults(t, cloud, fakemodal.Faults{TunnelNever: true, TunnelFails: "no address is free"})
	handle := testprovider.Create(t, p, newSpec())
	if o := testprovider.Observe(t, p, handle); o.State != sdk.Failed || !strings.Contains(o.Message, "no address is free") {
		t.Errorf("observed %+v", o)
	}
	if err := p.Terminate(t.Context(), handle); err != nil || len(live(cloud)) != 0 {
		t.Errorf("terminate: %v; %v", err, live(cloud))
	}
}

// What an image says of its programs holds for a machine, also from layers and copies of it.
func TestImageConfiguration(t *testing.T) {
	cloud := newCloud(t, fakemodal.Options{Images: func(name string) (fakemodal.ImageConfig, bool) {
		return fakemodal.ImageConfig{Env: map[string]string{"GREETING": "good day", "SEER_TRIAL": "not this"}, Workdir: "/workspace/app"}, name == "team/base:1"
	}})
	p := newProvider(t, cloud)
	spec := newSpec()
	spec.Image = &sdk.Image{Base: "team/base:1", PythonPackages: []string{"numpy"}}
	spec.Command = []string{"python3", "-c", "import os\nassert os.environ['GREETING'] == 'good day' and os.environ['SEER_TRIAL'] == '1' and os.getcwd().endswith('/workspace/app')"}
	if o := testprovider.Await(t, p, testprovider.Create(t, p, spec), sdk.Stopped); !strings.Contains(o.Message, "its program has ended") {
		t.Errorf("observed %+v", o)
	}
	spec.Key, spec.Image = spec.Key+"x", &sdk.Image{Base: "team/unknown:1"}
	_, log, err := testprovider.Steps(t, p, spec, nil, nil)
	testkit.WantCode(t, err, sdk.Invalid, "team/unknown:1", "manifest unknown")
	if len(log) == 0 || len(live(cloud)) != 0 {
		t.Errorf("log %q, machines %v", log, live(cloud))
	}
}

// A creation whose caller leaves is dropped, or goes on and is listed: it is never lost.
func TestCreationIsLeft(t *testing.T) {
	for _, drops := range []bool{true, false} {
		cloud := newCloud(t, fakemodal.Options{})
		p := newProvider(t, cloud)
		setFaults(t, cloud, fakemodal.Faults{StartDelay: time.Hour, DropsLeft: drops})
		spec := newSpec()
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			var cursor json.RawMessage
			for {
				step, err := p.Create(ctx, spec, cursor)
				if err != nil {
					left <- err
					return
				}
				cursor = step.Cursor
			}
		}()
		testkit.Eventually(t, "it is asked for", func() bool { return len(cloud.Machines()) == 1 })
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		want := 1
		if drops {
			want = 0
		}
		testkit.Eventually(t, "the server has noticed", func() bool { return len(live(cloud)) == want })
		if list, err := p.List(t.Context(), spec.Owner); err != nil || len(list) != want {
			t.Errorf("drops %v: listed %v, %v", drops, list, err)
		}
	}
}
