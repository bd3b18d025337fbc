// Package clouds tests that a whole run on a cloud keeps its promises inside the
// program, where package acceptance cannot look.
package clouds_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// prepared is what all tests share: artifacts and compiled plugins.
var prepared struct {
	artifacts testbuild.Artifacts
	cache     string // of an engine
	compiled  string // the part of it that is a host's
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) (err error) {
		prepared.cache = filepath.Join(dir, "cache")
		prepared.compiled = filepath.Join(prepared.cache, "wasm")
		if prepared.artifacts, err = testbuild.Build(dir); err != nil {
			return err
		}
		return hosttest.Prepare(prepared.compiled, "plugins/provider-modal", "plugins/provider-runpod", "plugins/expose-library")
	})
}

// open gives the provider of a fake cloud as the real host runs it, and the
// credentials that it must never see.
func open(t *testing.T, name string) (h *host.Host, secrets []string) {
	t.Helper()
	var env map[string]string
	switch name {
	case "modal":
		c := fakemodal.New(fakemodal.Options{Dir: t.TempDir(), Token: fakemodal.Token{ID: "ak-Qz7wXk3vJp9LmT2s", Secret: "as-Hy4RbN8cVe1GuD6o"}})
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		env, secrets = c.Env(), []string{"ak-Qz7wXk3vJp9LmT2s", "as-Hy4RbN8cVe1GuD6o"}
	case "runpod":
		c, err := fakerunpod.New(fakerunpod.Options{Dir: t.TempDir(), Keys: []string{"rpa_Wj5SxKf0PaZq8MiYt"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		env, secrets = maps.Clone(c.Env()), []string{"rpa_Wj5SxKf0PaZq8MiYt"}
	}
	plugins := t.TempDir()
	hosttest.BuiltIn(t, plugins, "provider-"+name)
	h, err := host.New(host.Options{
		Dirs: []string{plugins}, CacheDir: prepared.compiled, Access: host.GrantAll, Env: func(name string) (string, string, bool) {
			value, ok := env[name]
			return value, "environment", ok
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h, secrets
}

// TestNoCredentialReachesAPlugin searches the guests' memory at every step of a run.
func TestNoCredentialReachesAPlugin(t *testing.T) {
	for _, name := range []string{"modal", "runpod"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, secrets := open(t, name)
			provider, err := h.Provider(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			watched := &watched{Provider: provider, host: h, secrets: secrets, t: t}
			dir := t.TempDir()
			e, err := engine.New(engine.Options{
				StateDir: filepath.Join(dir, "state"), CacheDir: prepared.cache, RuntimeDir: filepath.Join(dir, "run"),
				ArtifactsDir: prepared.artifacts.Runtime, PluginDirs: []string{prepared.artifacts.Plugins}, PluginAccess: host.GrantAll,
				Providers: map[string]sdk.Provider{name: watched},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			exp := load(t, dir, name)
			ran, err := run.Run(t.Context(), e, exp, run.Options{Stderr: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(filepath.Join(ran.Outputs, "result")); string(got) != "42" {
				t.Errorf("the agent wrote %q", got)
			}
			if watched.looks.Load() < 5 || !watched.seesKey.Load() {
				t.Errorf("the search does not work: %d looks, the machine's key was seen: %v", watched.looks.Load(), watched.seesKey.Load())
			}
		})
	}
}

// load writes a small experiment.
func load(t *testing.T, dir, provider string) *experiment.Experiment {
	t.Helper()
	testkit.WriteFiles(t, dir, map[string]string{
		"tools.py": "@expose\ndef double(x: int) -> int:\n    return 2 * x\n",
		"agent.py": "import tools, pathlib\npathlib.Path('outputs/result').write_text(str(tools.double(21)))\n",
		"seer.yaml": "name: t\nsandbox: {provider: " + provider + ", timeout: 10m, python_packages: [pip]}\nserve: [{file: tools.py}]\n" +
			"workspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n",
	})
	exp, err := experiment.Load(t.Context(), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

// watched looks into the plugin's memory after each call.
type watched struct {
	sdk.Provider
	host    *host.Host
	secrets []string
	t       *testing.T
	looks   atomic.Int64
	seesKey atomic.Bool // the search finds what is there
}

func (w *watched) look(after string) {
	w.looks.Add(1)
	for _, secret := range w.secrets {
		for _, form := range []string{secret, secret[4:], base64.StdEncoding.EncodeToString([]byte(secret))} {
			if w.host.Holds([]byte(form)) {
				w.t.Errorf("after %s the plugin's memory holds %q", after, form)
			}
		}
	}
}

func (w *watched) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	defer w.look("offers")
	return w.Provider.Offers(ctx, q)
}

func (w *watched) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	step, err := w.Provider.Create(ctx, spec, cursor)
	w.look("create")
	if w.host.Holds([]byte(spec.Key)) {
		w.seesKey.Store(true)
	}
	return step, err
}

func (w *watched) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	defer w.look("observe")
	return w.Provider.Observe(ctx, handles)
}

func (w *watched) Terminate(ctx context.Context, handle string) error {
	defer w.look("terminate")
	return w.Provider.Terminate(ctx, handle)
}
