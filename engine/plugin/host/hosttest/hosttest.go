// Package hosttest builds real plugins for tests.
package hosttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/sdk/pack"
)

// builder builds each plugin once for a test binary.
type builder struct {
	mu    sync.Mutex
	built map[string]*result
}

type result struct {
	once  sync.Once
	files map[string][]byte
	err   error
}

// The one global of this package: tests have no other common owner.
var shared = builder{built: map[string]*result{}}

// What [Prepare] tells the tests of this package, which do the compiling: a program without
// the race detector is thirty times faster.
const (
	CacheVariable   = "SEER_HOSTTEST_CACHE"
	PluginsVariable = "SEER_HOSTTEST_PLUGINS"
)

// The plugin that a naive host runs, too, and where below a cache that one's code is.
const naivePlugin, naiveFolder = "expose-escape.wasm", "naive"

// Prepare builds the plugins in the given source folders (below Root) and fills the
// cache of a host with their compiled code. Call it in TestMain: without it, each
// plugin is compiled in the test, which is slow under the race detector. What a
// finished build has compiled ($SEER_TEST_BIN, `make compiled`) is copied.
func Prepare(cache string, sources ...string) error {
	root, err := root()
	if err == nil {
		err = KeyAsInstalled()
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hosttest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, src := range sources {
		group.Go(func() error {
			r := shared.get(filepath.Join(root, src))
			if copied, err := r.copyCompiled(cache); copied || err != nil {
				return err
			}
			return r.write(dir)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) == 0 {
		return err
	}
	cmd := exec.Command("go", "test", "-trimpath", "-count=1", "-vet=off", "./engine/plugin/host/hosttest")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), CacheVariable+"="+cache, PluginsVariable+"="+dir, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling plugins: %w\n%s", err, out)
	}
	return nil
}

// BuiltIn puts plugins of this repository, named by their ids, into dir.
func BuiltIn(t testing.TB, dir string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		Put(t, dir, filepath.Join(Root(t), "plugins", id))
	}
}

// Guest puts plugins made for tests into dir: pretend (a provider), acme (a
// fetcher), shout (an expose mode), rogue (one that misbehaves).
func Guest(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		Put(t, dir, filepath.Join(Root(t), "engine", "plugin", "host", "testdata", "guests", name))
	}
}

// Put builds the Go plugin in folder src and puts it into dir. Building takes a
// second, and ten the first time on a machine.
func Put(t testing.TB, dir, src string) {
	t.Helper()
	if err := shared.get(src).write(dir); err != nil {
		t.Fatal(err)
	}
}

// Root is the folder of this repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (b *builder) get(src string) *result {
	b.mu.Lock()
	r := b.built[src]
	if r == nil {
		r = &result{}
		b.built[src] = r
	}
	b.mu.Unlock()
	r.once.Do(func() { r.files, r.err = build(src) })
	return r
}

func (r *result) write(dir string) error {
	if r.err != nil {
		return r.err
	}
	for name, data := range r.files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func build(src string) (map[string][]byte, error) {
	if files, err := readBuilt(src); files != nil || err != nil {
		return files, err
	}
	dir, err := os.MkdirTemp("", "hosttest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := pack.Go(context.Background(), src, dir); err != nil {
		return nil, err
	}
	return readFolder(dir)
}

func readFolder(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return readFiles(dir, names...)
}

func readFiles(dir string, names ...string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	return files, nil
}
