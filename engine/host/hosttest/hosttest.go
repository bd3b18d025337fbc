// Package hosttest builds real plugins for tests.
package hosttest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
		Put(t, dir, filepath.Join(Root(t), "engine", "host", "testdata", "guests", name))
	}
}

// Put builds the Go plugin in folder src and puts it into dir. Building takes a
// second, and ten the first time on a machine.
func Put(t testing.TB, dir, src string) {
	t.Helper()
	for name, data := range shared.get(src).must(t) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Root is the folder of this repository.
func Root(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
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

func (r *result) must(t testing.TB) map[string][]byte {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.files
}

func build(src string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "hosttest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := pack.Go(context.Background(), src, dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}
