package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// What saved processes do not fit is told with its line and what would.
func TestWhatProcessesDoNotFitIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	exp, err := experiment.Parse([]byte("sandbox:\n  timeout: 1h\n  network: open\n"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = (&up{exp: exp}).unlike("sandbox.network", "the processes of m have the network none, and the experiment wants open", "none")
	const want = "e.yaml:3: sandbox.network: the processes of m have the network none, and the experiment wants open; set sandbox.network: none"
	if KindOf(err) != KindConfig || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// VS Code that is wanted and not there is found before anything is made.
func TestDebugWithoutVSCodeIsFound(t *testing.T) {
	t.Parallel()
	dir, asked := t.TempDir(), ""
	e, err := New(Options{StateDir: filepath.Join(dir, "s"), CacheDir: filepath.Join(dir, "c"), RuntimeDir: filepath.Join(dir, "r"), DataDir: filepath.Join(dir, "d"),
		LookupEnv: func(name string) (string, bool) {
			if name != "SEER_CODE_SERVER" {
				return "", false
			}
			return asked, true
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	exp, err := experiment.Parse([]byte("sandbox:\n  debug: true\n"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := func(features ...sdk.Feature) string {
		report := preflight.Report{Choices: []preflight.Choice{{Provider: sdk.ProviderInfo{Features: features}}}}
		e.debuggable(exp, &report)
		return fmt.Sprint(report.Err())
	}
	const want = "e.yaml:2: sandbox.debug: debug needs code-server, which is not on this computer; run: seer doctor --fix"
	if got := found(sdk.FeatureHostMounts); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
	if got := found(); got != "<nil>" { // a rented machine fetches it
		t.Errorf("got %s", got)
	}
	asked = filepath.Join(dir, "code server")
	for _, name := range []string{"lib/node", "bin/code-server"} {
		file := filepath.Join(asked, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	if got := found(sdk.FeatureHostMounts); got != "<nil>" {
		t.Errorf("got %s", got)
	}
}
