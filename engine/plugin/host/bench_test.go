package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
)

func BenchmarkColdCompile(b *testing.B) {
	dir := builtIn(b, "expose-library")
	for b.Loop() {
		first(b, dir, b.TempDir())
	}
}

func BenchmarkCachedLoad(b *testing.B) {
	dir, cache := builtIn(b, "expose-library"), b.TempDir()
	first(b, dir, cache)
	for b.Loop() {
		first(b, dir, cache)
	}
}

// first is a process's first call: find, load, start an instance, call.
func first(b *testing.B, dir, cache string) {
	b.Helper()
	h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: cache, Access: host.GrantAll})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close(context.Background())
	if _, err := expose(b, h, "library", ""); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCall1KiB(b *testing.B) {
	h := open(b, host.Options{Dirs: []string{guests(b, "rogue")}})
	option := fmt.Sprintf("%q", strings.Repeat("x", 1<<10))
	if _, err := expose(b, h, "rogue", option); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := expose(b, h, "rogue", option); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	dir := builtIn(b, "expose-library", "expose-mcp", "expose-prompt", "fetch-folder")
	for b.Loop() {
		h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: cacheDir, Access: host.GrantAll})
		if err != nil {
			b.Fatal(err)
		}
		if plugins, errs := h.Plugins(context.Background()); len(plugins) != 4 || len(errs) != 0 {
			b.Fatal(plugins, errs)
		}
	}
}
