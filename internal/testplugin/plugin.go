// Package testplugin runs built-in plugins in the real host, for tests.
package testplugin

import (
	"cmp"
	"context"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testkit"
)

// compiled is where [Main] has put the compiled code.
var compiled string

// Main runs the tests of a package after it has compiled the built-in plugin of this ID once,
// for all of them. It exits.
func Main(m *testing.M, id string) {
	testkit.Main(m, func(dir string) error {
		compiled = dir
		return hosttest.Prepare(dir, "plugins/"+id)
	})
}

// Open returns a host with the built-in plugin of this ID, which grants everything. Its
// variables are those of env, which may change later.
func Open(t testing.TB, id string, env map[string]string, o host.Options) *host.Host {
	t.Helper()
	dir := t.TempDir()
	hosttest.BuiltIn(t, dir, id)
	o.Dirs, o.Access, o.CacheDir = []string{dir}, host.GrantAll, cmp.Or(o.CacheDir, compiled)
	o.Env = func(name string) (string, string, bool) {
		value, ok := env[name]
		return value, "the test", ok
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}
