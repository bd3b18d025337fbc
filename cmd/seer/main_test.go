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

// The tests run the program as it is installed, with its runtime and plugins
// beside it. It is built without the race detector, under which compiling a plugin
// takes a minute.

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := builtIn.Load(); dir != nil {
		os.RemoveAll(*dir)
	}
	os.Exit(code)
}

// builtIn is the folder for the installation and the cache, if a test needed them.
var builtIn atomic.Pointer[string]

// installation is built once for all tests.
type installation struct {
	bin   string // the folder with seer
	cache string // for compiled plugins: shared, as that takes longer than all the rest
}

var installed = sync.OnceValues(func() (installation, error) {
	dir, err := os.MkdirTemp("", "seer-test-")
	if err != nil {
		return installation{}, err
	}
	builtIn.Store(&dir)
	i := installation{bin: dir, cache: filepath.Join(dir, "cache")}
	built, err := testbuild.Build(dir)
	if err != nil {
		return i, err
	}
	if bin := filepath.Dir(built.Runtime); bin != dir { // a finished build
		i.bin = bin
		_, err := testbuild.Warm(i.cache)
		return i, err
	}
	return i, built.Seer(filepath.Join(dir, "seer"))
})

func install(t *testing.T) installation {
	t.Helper()
	i, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// path is a PATH in which this seer comes first.
func (i installation) path() string {
	return i.bin + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// TestScript runs testdata/script: the program as a user sees it.
func TestScript(t *testing.T) {
	i := install(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(env, i) },
		Cmds:                scriptCommands(),
	})
}

// setUp gives a script a home of its own. What the script started is gone when it
// has ended, and that is checked.
func setUp(env *testscript.Env, i installation) error {
	sockets, err := os.MkdirTemp("", "s") // short: the path of a socket has at most 100 characters
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	fixtures, err := filepath.Abs("../../engine/plugin/host/testdata/v1") // small plugins
	if err != nil {
		return err
	}
	jupyter, err := filepath.Abs("../../.tools/jupyter-2.21.1/bin/python") // what notebook mode needs, by scripts/setup test
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"PATH": i.path(), "HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_CACHE_HOME": i.cache,
		"XDG_DATA_HOME": filepath.Join(home, "data"), "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_RUNTIME_DIR": sockets,
		"SEER_PYTHON": os.Getenv("SEER_PYTHON"), "NO_COLOR": "1", "FIXTURES": fixtures, "JUPYTER": jupyter,
		"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", // here, so that start passes them on
	} {
		env.Setenv(name, value)
	}
	env.Values[scriptEnvKey{}] = &scriptEnv{Env: env, running: map[string]*background{}}
	env.Defer(func() { os.RemoveAll(sockets) })
	env.Defer(func() { endEverything(env, sockets) })
	return nil
}
