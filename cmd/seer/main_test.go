package main

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seer-engine/seer/internal/testbuild"
)

// TestMain lets the test binary be seer, so that the tests run the real program.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"seer": main})
}

// cleaning removes what the tests have built, after the last of them.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() {
		if dir := builtIn.Load(); dir != nil {
			os.RemoveAll(*dir)
		}
	}()
	return c.M.Run()
}

var builtIn atomic.Pointer[string]

var artifacts = sync.OnceValues(func() (testbuild.Artifacts, error) {
	dir, err := os.MkdirTemp("", "seer-test-bin-")
	if err != nil {
		return testbuild.Artifacts{}, err
	}
	builtIn.Store(&dir)
	return testbuild.Build(dir)
})

// needArtifacts are the runtime and the plugins of this working tree.
func needArtifacts(t *testing.T) testbuild.Artifacts {
	t.Helper()
	built, err := artifacts()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TestScript runs testdata/script: the program as a user sees it.
func TestScript(t *testing.T) {
	built := needArtifacts(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, built) },
		Cmds:                scriptCommands(),
	})
}

// setUp gives a script a home of its own. What the script started is gone when it
// has ended, and that is checked.
func setUp(env *testscript.Env, built testbuild.Artifacts) error {
	sockets, err := os.MkdirTemp("", "s") // short: the path of a socket has at most 100 characters
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_CACHE_HOME": filepath.Join(home, "cache"),
		"XDG_DATA_HOME": filepath.Join(home, "data"), "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_RUNTIME_DIR": sockets,
		"SEER_ARTIFACTS_DIR": built.Runtime, "SEER_PLUGIN_DIR": built.Plugins, "SEER_PYTHON": os.Getenv("SEER_PYTHON"),
		"NO_COLOR": "1",
	} {
		env.Setenv(name, value)
	}
	env.Values[scriptEnvKey{}] = &scriptEnv{Env: env, running: map[string]*background{}}
	env.Defer(func() { os.RemoveAll(sockets) })
	env.Defer(func() { endEverything(env, sockets) })
	return nil
}
