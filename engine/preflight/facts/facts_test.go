package facts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/paths"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

func TestPythonSources(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data [1]")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "folder.py"), 0o700), os.WriteFile(filepath.Join(dir, "a.py"), []byte("x = 1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	exp := &experiment.Experiment{}
	exp.Workspace.Libraries = []string{dir}
	for mode, more := range map[string]int{experiment.ModeNotebook: 0, experiment.ModeCLI: 1} {
		exp.Sandbox.ExecutionMode, exp.Workspace.Init = mode, "pip install einops\n"
		if found := pythonSources(exp); len(found) != 1+more || found[0].Path != filepath.Join(dir, "a.py") {
			t.Errorf("%s: %+v", mode, found)
		}
	}
	for code, want := range map[string]bool{"ls": true, "\ncd data\n": true, "import a\nls": false, "import a\n%pip list": true,
		"def (": false, "x = (": false, "print(1": false, "import a b": false, "pip install a": true, "!ls": true} {
		if magic(experiment.ModeNotebook, code) != want || magic(experiment.ModeCLI, code) {
			t.Errorf("%q is magic: %v", code, !want)
		}
	}
}

// VS Code that is wanted and not there is found before anything is made.
func TestDebugWithoutVSCodeIsFound(t *testing.T) {
	t.Parallel()
	dir, asked := t.TempDir(), ""
	lookup := func(name string) (string, bool) {
		if name != "SEER_CODE_SERVER" {
			return "", false
		}
		return asked, true
	}
	where, err := paths.New(paths.Options{Getenv: func(string) string { return "" }, DataDir: filepath.Join(dir, "d")})
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Paths: where, LookupEnv: lookup}
	exp, err := experiment.Parse([]byte("sandbox:\n  debug: true\n"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := func(features ...sdk.Feature) string {
		report := preflight.Report{Choices: []preflight.Choice{{Provider: sdk.ProviderInfo{Features: features}}}}
		c.CheckDebug(exp, &report)
		return fmt.Sprint(report.Err())
	}
	const want = "e.yaml:2: sandbox.debug: debug needs code-server, which is not on this computer; install it"
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
