package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/sdk"
)

// rented is a provider as an embedder would write one: its machines are processes
// that listen on a TCP port, without host mounts and with an empty cache, which
// is what a cloud looks like.
type rented struct {
	dir string

	mu       sync.Mutex
	machines map[string]*exec.Cmd
	ports    map[string]int
	creates  int
}

func (p *rented) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{Name: "rented", Features: []sdk.Feature{sdk.FeatureSelfEnd}}, nil
}

// TestOffersHaveThisComputer: a start would choose it, too.
func TestOffersHaveThisComputer(t *testing.T) {
	e := newEngine(t, func(o *engine.Options) {
		o.PluginDirs, o.Providers = nil, map[string]sdk.Provider{"rented": &rented{}}
	})
	for _, c := range []struct {
		query sdk.OfferQuery
		names []string
		want  string
	}{
		{sdk.OfferQuery{}, nil, "local rented"},
		{sdk.OfferQuery{}, []string{"rented"}, "rented"},
		{sdk.OfferQuery{Regions: []string{"EU"}}, nil, "rented"},
	} {
		offers, err := e.Offers(t.Context(), c.names, []sdk.OfferQuery{c.query}, nil)
		var got []string
		for _, o := range offers {
			got = append(got, o.Provider)
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%+v of %v: %v, %v, want %s", c.query, c.names, got, err, c.want)
		}
	}
}

func (p *rented) Offers(context.Context, sdk.OfferQuery) ([]sdk.Offer, error) {
	return []sdk.Offer{{ID: "small", CostPerHour: 1.5}}, nil
}

// Create needs two steps, as a queue would.
func (p *rented) Create(_ context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.creates++
	if cursor == nil {
		return sdk.CreateStep{Cursor: json.RawMessage(`"queued"`), Log: []string{"waiting for a machine"}}, nil
	}
	if _, ok := p.machines[spec.Key]; ok {
		return sdk.CreateStep{Handle: spec.Key}, nil
	}
	port, err := container.FreePort()
	if err != nil {
		return sdk.CreateStep{}, err
	}
	var boot loader.Boot
	if err := json.Unmarshal([]byte(spec.Env[loader.BootVariable]), &boot); err != nil {
		return sdk.CreateStep{}, err
	}
	// A container would give the machine its own file system and port.
	boot.Listen, boot.Cache, boot.Scratch = fmt.Sprintf("tcp:127.0.0.1:%d", port), filepath.Join(p.dir, "cache"), filepath.Join(p.dir, spec.Key)
	boot.Roots = map[string]string{"/workspace": filepath.Join(p.dir, spec.Key, "workspace"), "/models": filepath.Join(p.dir, spec.Key, "models")}
	home := filepath.Join(p.dir, spec.Key, "home")
	for _, dir := range append(slices.Collect(maps.Values(boot.Roots)), home) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return sdk.CreateStep{}, err
		}
	}
	text, _ := json.Marshal(boot)
	cmd := exec.Command("/usr/bin/python3", spec.Command[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, loader.BootVariable + "=" + string(text)}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return sdk.CreateStep{}, err
	}
	p.machines[spec.Key], p.ports[spec.Key] = cmd, port
	return sdk.CreateStep{Handle: spec.Key}, nil
}

func (p *rented) Observe(_ context.Context, handles []string) ([]sdk.Observation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var seen []sdk.Observation
	for _, h := range handles {
		o := sdk.Observation{Handle: h, State: sdk.Stopped}
		if p.machines[h] != nil {
			o.State, o.CostPerHour = sdk.Running, 1.5
			o.Endpoints = []sdk.Endpoint{{Port: 8717, URL: fmt.Sprintf("http://127.0.0.1:%d", p.ports[h])}}
		}
		seen = append(seen, o)
	}
	return seen, nil
}

func (p *rented) List(context.Context, string) ([]sdk.Listed, error) { return nil, nil }

func (p *rented) Terminate(_ context.Context, handle string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cmd := p.machines[handle]; cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		delete(p.machines, handle)
	}
	return nil
}

// shelf is a model source over HTTP.
type shelf struct{ url string }

func (s shelf) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	return sdk.ResolvedModel{Name: ref.Name, Revision: "r1", Files: []sdk.ModelFile{{Path: "w.txt", Size: 7}}}, nil
}

func (s shelf) Locate(_ context.Context, f sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{URL: s.url + "/" + f.Path}, nil
}

// list is an expose mode.
type list struct{}

func (list) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	var names []string
	for _, f := range req.Interface.Functions {
		names = append(names, f.Name)
	}
	return sdk.Surface{Prompt: strings.Join(names, " ")}, nil
}

// An embedder's own provider, model source and expose mode carry a whole
// experiment, and the machine boots as it would in a cloud: the runtime is pushed
// to it, and it downloads the model.
func TestNativeContractsOnARentedMachine(t *testing.T) {
	weights := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "weights") }))
	defer weights.Close()
	cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
	e := newEngine(t, func(o *engine.Options) {
		o.Providers = map[string]sdk.Provider{"rented": cloud}
		o.Fetchers = map[string]sdk.Fetcher{"shelf": shelf{weights.URL}}
		o.Exposers = map[string]sdk.Exposer{"list": list{}}
		o.PluginDirs = nil
	})
	exp := load(t, map[string]string{
		"seer.yaml":    "name: t\nsandbox: {provider: rented, models: ['shelf:tiny'], secrets: []}\nserve: [{file: interface.py, expose_as: list}]\n",
		"interface.py": "@expose\ndef read():\n    return open(get_model_path('shelf:tiny') + '/w.txt').read()\n",
	})
	var log []string
	var filling []machine.LeaseKind
	lease := func() machine.LeaseKind {
		all, err := e.Sandboxes(t.Context(), false)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0].Lease.Kind
	}
	s := up(t, e, exp, engine.UpOptions{Progress: func(ev engine.Event) {
		log = append(log, eventtext.Sentence(ev))
		if ev.Type == event.TypeOf(event.ModelDownloadStarted{}) {
			filling = append(filling, lease())
		}
	}})
	// A program that dies half-way leaves nothing that lives as long as a whole sandbox.
	if len(filling) == 0 || filling[0] != machine.Attached || lease() != machine.Detached {
		t.Errorf("while it is filled the lease is %q, then %q", filling, lease())
	}
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: exp.Serve[0].File})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := v.Call(t.Context(), "read", nil, nil, &got); err != nil || got != "weights" {
		t.Errorf("%q, %v", got, err)
	}
	if surface, err := v.Expose(t.Context(), "list", nil); err != nil || surface.Prompt != "read" {
		t.Errorf("%+v, %v", surface, err)
	}
	var out bytes.Buffer
	if p, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: "cat"}, strings.NewReader("in and out"), &out, &out); err != nil || p.ExitCode != 0 || out.String() != "in and out" {
		t.Errorf("exec: %q, %+v, %v", &out, p, err)
	}
	if cloud.creates != 2 || !strings.Contains(strings.Join(log, "\n"), "waiting for a machine") {
		t.Errorf("%d creates, log %q", cloud.creates, log)
	}
	if info, err := s.Info(t.Context()); err != nil || info.CostPerHour != 1.5 {
		t.Errorf("info = %+v, %v", info, err)
	}
	if err := s.Terminate(t.Context()); err != nil || len(cloud.machines) != 0 {
		t.Errorf("terminate: %v, %d machines left", err, len(cloud.machines))
	}
}

// TestMachineIsLost: whoever works with a machine hears that it has ended, before every
// request to it has been tried for minutes.
func TestMachineIsLost(t *testing.T) {
	cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
	e := newEngine(t, func(o *engine.Options) { o.Providers = map[string]sdk.Provider{"rented": cloud} })
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {provider: rented}\n"})
	s := attached(t, e, exp, 4*time.Second, func(s *engine.Sandbox) error {
		living, stop := s.WithLifetime(t.Context())
		defer stop()
		for handle := range cloud.machines {
			if err := cloud.Terminate(t.Context(), handle); err != nil {
				return err
			}
		}
		<-living.Done()
		if err := context.Cause(living); engine.KindOf(err) != engine.KindProvider || !strings.Contains(err.Error(), "the machine ended") {
			return fmt.Errorf("the cause is %w", err)
		}
		return nil
	})
	if err := s.Terminate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEndedWhileItIsFilled: what somebody else has ended is not handed over as ready.
func TestEndedWhileItIsFilled(t *testing.T) {
	cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
	e := newEngine(t, func(o *engine.Options) { o.Providers = map[string]sdk.Provider{"rented": cloud} })
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {provider: rented, models: [./tiny]}\n", "tiny/w.txt": "1"})
	s, err := e.Up(t.Context(), exp, engine.UpOptions{Name: "lab", Progress: func(ev engine.Event) {
		if ev.Stage() == event.StageUpload {
			if err := e.Terminate(t.Context(), "lab"); err != nil {
				t.Error(err)
			}
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "ended") || len(cloud.machines) != 0 {
		t.Errorf("%+v, %v, %d machines", s, err, len(cloud.machines))
	}
}
