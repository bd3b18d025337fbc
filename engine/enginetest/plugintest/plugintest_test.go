package plugintest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk/sdktest"
)

var cacheDir string

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) error { cacheDir = dir; return nil })
}

// prepare builds and compiles the guests outside of the race detector.
var prepare = sync.OnceValue(func() error {
	return hosttest.Prepare(cacheDir, "engine/plugin/host/testdata/guests/shout", "engine/plugin/host/testdata/guests/pretend", "engine/plugin/host/testdata/guests/escape", "engine/plugin/host/testdata/guests/pods")
})

// try runs the kit on a guest and gives its results by name.
func try(t *testing.T, guest, id string, o plugintest.Options) (sdktest.Report, map[string]sdktest.Result) {
	t.Helper()
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hosttest.Guest(t, dir, guest)
	o.Wasm, o.Cache, o.Quick = filepath.Join(dir, id+".wasm"), cacheDir, true
	if o.Config != nil {
		o.Folder = dir
	}
	report, err := plugintest.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]sdktest.Result{}
	for _, r := range report.Results {
		results[r.Check] = r
	}
	return report, results
}

func TestSoundPlugin(t *testing.T) {
	var told int
	report, results := try(t, "shout", "expose-shout", plugintest.Options{Seer: "1.2.3", Progress: func(sdktest.Result) { told++ },
		Config: &plugintest.Config{Skip: map[string]string{"expose/expose": "a guest of the tests does next to nothing"}}})
	if !report.OK() || told != len(report.Results) || report.Plugin != "expose-shout" || report.Version != "0.1.0" || report.Seer != "1.2.3" ||
		!strings.HasPrefix(report.Digest, "sha256:") || report.Kit != sdktest.KitVersion {
		t.Errorf("%+v", report)
	}
	for _, check := range []string{"static/loads", "static/manifest-inside", "static/imports", "static/compiles", "resources/start", "resources/calls", "resources/memory"} {
		if results[check].Status != sdktest.Passed {
			t.Errorf("%s: %+v", check, results[check])
		}
	}
	if results["secrets/never-seen"].Status != sdktest.Skipped {
		t.Errorf("%+v", results["secrets/never-seen"])
	}
	raw, err := json.Marshal(report)
	var again sdktest.Report
	if err != nil || json.Unmarshal(raw, &again) != nil || again.Digest != report.Digest || len(again.Results) != len(report.Results) {
		t.Errorf("it does not survive JSON: %v", err)
	}
	var text bytes.Buffer
	if err := plugintest.Text(&text, report); err != nil || !strings.HasSuffix(text.String(), "left out\n") || strings.Contains(text.String(), "failed    ") {
		t.Errorf("%s", text.String())
	}
}

// A plugin that answers to nothing it is asked for fails, and the kit goes on to its end.
func TestBrokenPlugin(t *testing.T) {
	report, results := try(t, "escape", "expose-escape", plugintest.Options{
		Config: &plugintest.Config{Settings: map[string]string{"endpoint": "http://127.0.0.1:1"}, Skip: map[string]string{"provider": "tried elsewhere", "fetcher": "tried elsewhere"}}})
	if report.OK() {
		t.Error("the kit found nothing")
	}
	if r := results["resources/start"]; r.Status != sdktest.Failed || !strings.Contains(r.Detail, "first call failed") {
		t.Errorf("%+v", r)
	}
	if r := results["secrets/never-seen"]; r.Status != sdktest.Passed {
		t.Errorf("%+v", r)
	}
	if r := results["static/imports"]; r.Status != sdktest.Failed || !strings.Contains(r.Detail, "permissions.grpc") {
		t.Errorf("%+v", r)
	}
	if r := results["static/permissions-narrow"]; r.Status != sdktest.Passed || !strings.Contains(r.Detail, "every path of {inside}") {
		t.Errorf("%+v", r)
	}
	var text bytes.Buffer
	if err := plugintest.Text(&text, report); err != nil || !strings.HasPrefix(text.String(), "failed ") || !strings.Contains(text.String(), "does not fulfil its contract") {
		t.Errorf("%s", text.String())
	}
}

// With an account, what is rented keeps to the budget; without one it says so.
// The provider knows nothing of its machines, so that the kit waits for them; the budget
// is for three seconds.
func TestLive(t *testing.T) {
	config := &plugintest.Config{Options: map[string]any{"endpoint": "unix:/run/none.sock"}, Skip: map[string]string{"provider": "tried elsewhere"}, Live: plugintest.Live{MaxCost: 0.0005}}
	_, results := try(t, "pretend", "provider-pretend", plugintest.Options{Live: true, Config: config})
	if r := results["live/live/offers"]; r.Check != "" {
		t.Errorf("named twice: %+v", r)
	}
	if r := results["live/offers"]; r.Status != sdktest.Passed || !strings.Contains(r.Detail, "pretend-cpu for 0.5 USD an hour") {
		t.Errorf("%+v", r)
	}
	if r := results["live/end/nothing-left"]; r.Check == "" {
		t.Error("nothing was tidied up")
	}
	if all := fmt.Sprint(results); !strings.Contains(all, "the budget of 0.0005 USD is used up") {
		t.Errorf("the limit is not kept: %s", all)
	}
	config.Live.MaxCost = 0
	if _, results = try(t, "pretend", "provider-pretend", plugintest.Options{Live: true, Config: config}); results["live/offers"].Status != sdktest.Failed {
		t.Errorf("without a budget: %+v", results["live/offers"])
	}
}

// What cannot be loaded has a report that says so.
func TestNotAPlugin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expose-none.wasm")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := plugintest.Run(t.Context(), plugintest.Options{Wasm: file})
	if err != nil || report.OK() || len(report.Results) != 1 || !strings.Contains(report.Results[0].Detail, "not a Wasm binary") {
		t.Errorf("%+v, %v", report, err)
	}
}

// What keeps the kit from trying is an error, not a finding.
func TestNothingToTry(t *testing.T) {
	dir := t.TempDir()
	hosttest.Guest(t, dir, "shout")
	wasm := filepath.Join(dir, "expose-shout.wasm")
	if err := os.WriteFile(filepath.Join(dir, plugintest.ConfigFile), []byte("modles: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := plugintest.Run(t.Context(), plugintest.Options{Wasm: wasm}); err == nil || !strings.Contains(err.Error(), "conformance.yaml:1: field modles") {
		t.Errorf("%v", err)
	}
	if _, err := plugintest.Run(t.Context(), plugintest.Options{}); err == nil {
		t.Error("no module is no error")
	}
	for _, c := range []plugintest.Config{{Settings: map[string]string{"none": "x"}}, {Simulator: plugintest.Simulator{Command: []string{"no-such-program-of-seer"}}}} {
		if _, err := plugintest.Run(t.Context(), plugintest.Options{Wasm: wasm, Config: &c, Cache: cacheDir}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plugintest.Run(ctx, plugintest.Options{Wasm: wasm, Config: &plugintest.Config{}, Cache: cacheDir}); err == nil {
		t.Error("given up, and no error")
	}
}
