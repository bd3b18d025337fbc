// Package testengine makes engines for tests, with the runtime and the built-in plugins of
// the working tree.
package testengine

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// Installation is what the engines of a package's tests share. [Main] fills it.
type Installation struct {
	testbuild.Artifacts
	builtins map[string]string
}

// Main runs the tests of a package with an installation, and exits.
func Main(m *testing.M, i *Installation) {
	testkit.Main(m, func(dir string) (err error) {
		if i.Artifacts, err = testbuild.Build(dir); err == nil {
			i.builtins, err = i.Builtins()
		}
		return errors.Join(err, hosttest.KeyAsInstalled())
	})
}

// Cache holds compiled plugins for all tests of one process.
func (i *Installation) Cache() string { return filepath.Join(filepath.Dir(i.Plugins), "cache") }

// Engine makes an engine with folders of its own. Sandboxes that the test leaves behind
// fail it.
func (i *Installation) Engine(t testing.TB, change ...func(*engine.Options)) *engine.Engine {
	t.Helper()
	o := engine.Options{
		StateDir: filepath.Join(t.TempDir(), "state dir é"), CacheDir: i.Cache(), RuntimeDir: testkit.ShortDir(t),
		ArtifactsDir: i.Runtime, PluginDirs: []string{i.Plugins}, BuiltinPlugins: i.builtins,
	}
	for _, c := range change {
		c(&o)
	}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		infos, _ := e.Sandboxes(context.Background(), true)
		for _, info := range infos {
			if info.State.Live() {
				t.Errorf("the sandbox %s was left behind", info.ID)
				_ = e.Terminate(context.Background(), info.ID)
			}
		}
		e.Close()
	})
	return e
}
