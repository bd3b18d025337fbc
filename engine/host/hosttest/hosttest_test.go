package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/engine/host/hosttest"
)

// TestMain is also the program that Prepare runs.
func TestMain(m *testing.M) {
	cache, ok := os.LookupEnv(hosttest.CacheVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := warm(context.Background(), cache, os.Getenv(hosttest.PluginsVariable)); err != nil {
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
	for _, p := range plugins {
		errs = append(errs, h.Compile(ctx, p))
	}
	return errors.Join(append(errs, h.Close(ctx))...)
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
