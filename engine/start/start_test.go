package start_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/build"
	"github.com/seer-engine/seer/engine/checkpoint"
	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/start"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/engine/trust/effects"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// rig is a starter with a cloud in memory, and what happened, in order.
type rig struct {
	*start.Starter
	cloud     *enginetest.Provider
	snapshots *snapshot.Store
	dir       string // of the experiment
	happened  []string
	answer    trust.Answer
	ledger    *machine.Ledger
	begun     time.Time // since when a start goes on, when a model is looked for
}

func (r *rig) note(what string) { r.happened = append(r.happened, what) }

// Resolve is that of a source of models at which nobody answers.
func (r *rig) Resolve(context.Context, sdk.ModelRef) (sdk.ResolvedModel, error) {
	r.note("a model is looked for")
	r.begun, _ = r.ledger.Begun()
	return sdk.ResolvedModel{}, sdk.Errorf(sdk.NotFound, "the source has no such model")
}

func (r *rig) Locate(context.Context, sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{}, errors.New("no file is located")
}

func (r *rig) ask(context.Context, trust.Effects) (trust.Answer, error) {
	r.note("the user is asked")
	return r.answer, nil
}

// progress notes the events that say where a start is.
func (r *rig) progress(ev event.Event) {
	switch ev.Data.(type) {
	case event.PreflightStarted:
		r.note("checking")
	case event.SandboxReady:
		r.note("ready")
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{dir: t.TempDir(), answer: trust.Once, snapshots: &snapshot.Store{Dir: t.TempDir()}}
	r.cloud = enginetest.NewProvider("cloud", machine.SystemClock{}, enginetest.Script{CostPerHour: 1, PollSeconds: 0.01})
	base := testkit.ShortDir(t)
	getenv := func(name string) string {
		return map[string]string{"HOME": base, "PATH": os.Getenv("PATH"), "CLOUD_TOKEN": "a-secret-value"}[name]
	}
	lookup := func(name string) (string, bool) { value := getenv(name); return value, value != "" }
	logger := hclog.NewNullLogger()
	artifacts := t.TempDir()
	for _, name := range []string{"linux-amd64", runtime.GOOS + "-" + runtime.GOARCH} {
		testkit.WriteFile(t, filepath.Join(artifacts, "seer-runtime-"+name), "a program")
	}
	store, err := state.Open(state.Options{Getenv: getenv, RuntimeDir: filepath.Join(base, "r")})
	if err != nil {
		t.Fatal(err)
	}
	where, err := paths.New(paths.Options{Getenv: getenv, ArtifactsDir: artifacts})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := machine.OpenLedger(t.TempDir(), machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	r.ledger = ledger
	here := func() (sdk.Provider, error) {
		return enginetest.NewProvider(local.Name, machine.SystemClock{}, enginetest.Script{}), nil
	}
	plugins := registry.New(registry.Options{
		State: store, Paths: where, LookupEnv: lookup, Now: time.Now, Logger: logger, Local: here, Records: ledger.List,
		Providers: map[string]sdk.Provider{"cloud": r.cloud}, Fetchers: map[string]sdk.Fetcher{"silent": r},
	})
	driver := machine.NewDriver(machine.Options{
		Ledger: ledger, Providers: plugins.Provider, Account: plugins.Account, Late: plugins.Late, Clock: machine.SystemClock{}, Logger: logger,
	})
	python := pyenv.New(pyenv.Options{Store: store, Getenv: getenv, Logger: logger})
	builder := &build.Builder{Store: store, Now: time.Now, Getenv: getenv, Python: python}
	connect := func(machine.Record) (provision.Machine, error) {
		r.note("it is connected to")
		return provision.Machine{}, errors.New("no way to it")
	}
	r.Starter = &start.Starter{
		Plugins: plugins, Store: store, Paths: where, Python: python, Ledger: ledger, Builder: builder,
		Guard: &effects.Guard{
			Ask: r.ask, Store: func() (trust.Store, error) { return trust.OpenStore(store, time.Now) },
			Finder: effects.Finder{Getenv: getenv, Plugins: plugins, PipSettings: builder.Settings, NeedsLogin: func(context.Context, string) (string, error) { return "", nil }},
		},
		Logins: &image.Logins{}, Copies: blinding.Copies{Store: store, Now: time.Now},
		Manifests:  models.Manifests{Dir: func() (string, error) { return store.Dir("models") }},
		CodeServer: codeserver.Finder{Getenv: getenv}, Offers: driver.Offers, Local: here, Snapshots: func() (*snapshot.Store, error) { return r.snapshots, nil },
		Provisioner: provision.Provisioner{
			Driver: driver, Ledger: ledger, Connect: connect, Observer: provision.Observer{Provider: plugins.Provider, Record: ledger.Get},
			Native: plugins.Native, RuntimeBinary: where.RuntimeBinary, Now: time.Now,
		},
		Checkpointer: checkpoint.Checkpointer{Store: store, Local: here, LocalReplaced: func() bool { return false }, Ledger: ledger, Driver: driver, Now: time.Now},
		PruneDaily:   func(context.Context) { r.note("the cache is pruned") },
		LookupEnv:    lookup, Now: time.Now, Logger: logger,
	}
	return r
}

// experiment is a file of the given fields on the cloud.
func (r *rig) experiment(t *testing.T, fields string) *experiment.Experiment {
	t.Helper()
	file := testkit.WriteFile(t, filepath.Join(r.dir, "seer.yaml"), "name: test\nsandbox:\n  provider: cloud\n  timeout: 10m\n"+fields)
	exp, err := experiment.Load(t.Context(), file, experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

// save makes a snapshot.
func (r *rig) save(t *testing.T, name string, kind snapshot.Kind) snapshot.Snapshot {
	t.Helper()
	source := snapshot.Source{Name: "files/a", Opaque: true, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("text")), nil
	}}
	saved, err := r.snapshots.Save(t.Context(), snapshot.Meta{Name: name, Kind: kind}, []snapshot.Source{source})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// TestNothingIsRented when a start fails before it: each kind of failure is found in its
// turn, and none later than it can be.
func TestNothingIsRented(t *testing.T) {
	t.Parallel()
	const secret, model = "  secrets: [CLOUD_TOKEN]\n", "  models: [silent:m]\n"
	stop := errors.New("stopped after the confirmation")
	for name, c := range map[string]struct {
		fields  string
		options start.Options
		change  func(*testing.T, *rig)
		kind    errdefs.Kind
		want    string
		happens []string
	}{
		"a secret is missing":        {fields: "  secrets: [NOT_SET]\n", kind: errdefs.KindConfig, want: "NOT_SET", happens: []string{"checking"}},
		"no runtime for the machine": {change: func(_ *testing.T, r *rig) { r.Paths.Artifacts += "/none" }, kind: errdefs.KindProvider, want: "the runtime for linux/amd64 is missing", happens: []string{"checking"}},
		"the user says no":           {fields: secret + model, change: func(_ *testing.T, r *rig) { r.answer = trust.No }, kind: errdefs.KindUntrusted, want: "CLOUD_TOKEN", happens: []string{"checking", "the user is asked"}},
		"the caller stops":           {fields: secret + model, options: start.Options{Confirmed: func() error { return stop }}, want: stop.Error(), happens: []string{"checking", "the user is asked"}},
		"a model cannot be found":    {fields: secret + model, kind: errdefs.KindNotFound, want: "the source has no such model", happens: []string{"checking", "the user is asked", "a model is looked for"}},
		"there is no such snapshot":  {options: start.Options{Snapshot: "none"}, kind: errdefs.KindNotFound, want: "none"},
		"the snapshot is damaged":    {options: start.Options{Snapshot: "saved"}, change: damage, want: "saved"},
		"processes that nobody signed": {options: start.Options{Snapshot: "saved"}, change: func(t *testing.T, r *rig) { r.save(t, "saved", snapshot.Memory) },
			kind: errdefs.KindUntrusted, want: "it is not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			exp := r.experiment(t, c.fields)
			if c.change != nil {
				c.change(t, r)
			}
			c.options.Progress = r.progress
			_, err := r.Start(t.Context(), exp, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != "" && errdefs.KindOf(err) != c.kind {
				t.Errorf("%s: %v", errdefs.KindOf(err), err)
			}
			if !slices.Equal(r.happened, c.happens) {
				t.Errorf("happened: %q", r.happened)
			}
			if n := r.cloud.Calls(enginetest.OpCreate); n > 0 {
				t.Errorf("%d machines were asked for", n)
			}
		})
	}
}

// TestStartGoesOnWhileModelsAreFetched so that nobody removes what it has found.
func TestStartGoesOnWhileModelsAreFetched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.Start(t.Context(), r.experiment(t, "  models: [silent:m]\n"), start.Options{})
	if errdefs.KindOf(err) != errdefs.KindNotFound || r.begun.IsZero() {
		t.Errorf("%v, since %s", err, r.begun)
	}
	if at, err := r.ledger.Begun(); err != nil || !at.IsZero() {
		t.Errorf("after its end, a start goes on since %s, %v", at, err)
	}
}

// damage makes the snapshot "saved" and then removes what describes it.
func damage(t *testing.T, r *rig) {
	saved := r.save(t, "saved", snapshot.FileSystem)
	if err := os.Remove(filepath.Join(r.snapshots.Dir, "blobs", strings.TrimPrefix(saved.ID, "sha256:"))); err != nil {
		t.Fatal(err)
	}
}

// TestRentedMachineIsEnded when the start fails after it was rented, and nothing is done that
// follows a start that has succeeded.
func TestRentedMachineIsEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.Start(t.Context(), r.experiment(t, ""), start.Options{Progress: r.progress, Name: "box"})
	if errdefs.KindOf(err) != errdefs.KindProvider || !strings.Contains(err.Error(), "no way to it") {
		t.Errorf("%s: %v", errdefs.KindOf(err), err)
	}
	if want := []string{"checking", "it is connected to"}; !slices.Equal(r.happened, want) {
		t.Errorf("happened: %q", r.happened)
	}
	if live := r.cloud.Live(); r.cloud.Calls(enginetest.OpCreate) == 0 || len(live) > 0 {
		t.Errorf("it asked for %d machines, and left %+v", r.cloud.Calls(enginetest.OpCreate), live)
	}
}

// TestPlanMakesNothing, and offline it asks nobody.
func TestPlanMakesNothing(t *testing.T) {
	t.Parallel()
	for _, offline := range []bool{false, true} {
		r := newRig(t)
		p, err := r.Plan(t.Context(), r.experiment(t, "  secrets: [CLOUD_TOKEN]\n"), start.CheckOptions{Offline: offline})
		if err != nil {
			t.Fatal(err)
		}
		if p.Effects == nil || len(p.Effects.Outside) == 0 {
			t.Errorf("the effects: %+v", p.Effects)
		}
		if asked := r.cloud.Calls(enginetest.OpOffers) > 0; asked == offline {
			t.Errorf("offline %v: the provider was asked for offers %d times", offline, r.cloud.Calls(enginetest.OpOffers))
		}
		if len(r.happened) > 0 || r.cloud.Calls(enginetest.OpCreate) > 0 {
			t.Errorf("happened: %q", r.happened)
		}
	}
}

// TestCheckReports all mistakes at once, and none of them is an error of the check itself.
func TestCheckReports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	report, err := r.Check(t.Context(), r.experiment(t, "  secrets: [NOT_SET]\n  local_dirs: [[./nowhere, /workspace/data]]\n"), start.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NOT_SET", "nowhere"} {
		if report.Err() == nil || !strings.Contains(report.Err().Error(), want) {
			t.Errorf("no %s: %v", want, report.Err())
		}
	}
}
