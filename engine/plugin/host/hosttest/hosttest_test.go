package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
)

// TestMain is also the program that Prepare runs.
func TestMain(m *testing.M) {
	cache, ok := os.LookupEnv(hosttest.CacheVariable)
	if !ok {
		os.Exit(m.Run())
	}
	err := hosttest.KeyAsInstalled()
	if err == nil {
		err = warm(context.Background(), cache, os.Getenv(hosttest.PluginsVariable))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func warm(ctx context.Context, cache, dir string) error {
	h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: cache})
	if err != nil {
		return err
	}
	plugins, errs := h.Plugins(ctx)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range plugins {
		group.Go(func() error { return h.Compile(ctx, p) })
		if p.Manifest.ID == "expose-escape" {
			group.Go(func() error { return warmNaive(ctx, cache, p.File) })
		}
	}
	return errors.Join(append(errs, group.Wait(), h.Close(ctx))...)
}

// warmNaive does the same for the naive host of the hostile suite.
func warmNaive(ctx context.Context, cache, file string) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	kept, err := wazero.NewCompilationCacheWithDir(filepath.Join(cache, "naive"))
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(kept))
	_, err = r.CompileModule(ctx, code)
	return errors.Join(err, r.Close(ctx))
}

func TestPut(t *testing.T) {
	dir := t.TempDir()
	hosttest.Guest(t, dir, "shout")
	for _, name := range []string{"expose-shout.wasm", "expose-shout.yaml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
