package pyenv_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/pyenv"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestInterpreterIsRemembered(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("needs /usr/bin/python3")
	}
	cache := t.TempDir()
	ask := func(path string) (string, error) {
		store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: cache, RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		p, err := pyenv.New(pyenv.Options{Store: store, Getenv: os.Getenv, Python: path, Logger: hclog.NewNullLogger()}).Default()
		return p.Version, err
	}
	asked, err := ask(python)
	if err != nil {
		t.Fatal(err)
	}
	noted, _ := filepath.Glob(filepath.Join(cache, "python", "*.json"))
	if len(noted) != 1 {
		t.Fatalf("notes: %v", noted)
	}
	if err := os.WriteFile(noted[0], []byte(`{"executable":"/usr/bin/python3","version":"3.99.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := ask(python); err != nil || again != "3.99.0" {
		t.Errorf("asked again: %s, %v", again, err)
	}
	if err := os.WriteFile(noted[0], []byte(`{"execut`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := ask(python); err != nil || again != asked {
		t.Errorf("a torn note: %s, %v", again, err)
	}
	// A launcher decides anew each time.
	script := filepath.Join(t.TempDir(), "python3")
	testkit.WriteProgram(t, script, "#!/bin/sh\nexec "+python+" \"$@\"\n")
	if _, err := ask(script); err != nil {
		t.Fatal(err)
	}
	if noted, _ := filepath.Glob(filepath.Join(cache, "python", "*.json")); len(noted) != 1 {
		t.Errorf("notes of a script: %v", noted)
	}
}
