package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/sdk"
)

type world struct {
	*Store
	t                   testing.TB
	data, state, config string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, data: filepath.Join(dir, "data"), state: filepath.Join(dir, "state"), config: filepath.Join(dir, "config.yaml")}
	w.Store = w.open(nil)
	return w
}

// open is what another process does.
func (w *world) open(step func(string) error) *Store {
	w.t.Helper()
	s, err := Open(Options{DataDir: w.data, StateDir: w.state, ConfigFile: w.config, Step: step,
		Now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) put(b bundle.Bundle) Installed {
	w.t.Helper()
	in, err := w.Put(context.Background(), b, bundle.Origin{Reference: "./tiny.wasm", Resolved: "/tiny.wasm"}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// grant says yes to everything that a stored plugin asks for, and makes it active.
func (w *world) grant(in Installed) {
	w.t.Helper()
	g := Grant{ID: in.ID, Digest: in.Wasm, Version: in.Version, Asked: in.Access, Lines: in.Access, By: "you"}
	if err := w.Adopt(context.Background(), Adoption{ID: in.ID, Digest: in.Digest, Grant: &g, Activate: true}); err != nil {
		w.t.Fatal(err)
	}
}

// host is one that searches the active plugins and dirs.
func (w *world) host(dirs ...string) *host.Host {
	w.t.Helper()
	active, err := w.Dirs()
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := host.New(host.Options{Dirs: append(active, dirs...), CacheDir: w.t.TempDir(), Access: w.Decide})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { h.Close(context.Background()) })
	return h
}

func (w *world) write(path, text string, mode os.FileMode) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

const (
	fingerprintA = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	fingerprintB = "SHA256:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
)

// expose is a mode that asks for nothing.
func expose(t testing.TB) bundle.Bundle {
	t.Helper()
	manifest := "id: expose-tiny\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [tiny]\n"
	b, err := bundle.New(hosttest.Module(sdk.KindExpose, manifest), []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
