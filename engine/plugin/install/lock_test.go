package install

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

// locked installs with a lock in the project folder and reads it.
func (w *world) locked(ref string, b bundle.Bundle) *store.Lock {
	w.t.Helper()
	w.shelf.bundles[ref] = b
	p, err := w.Plan(context.Background(), Request{Ref: ref, LockDir: w.project})
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.apply(p, Consent{Hash: p.Hash, By: "you"})
	if r.Lock != filepath.Join(w.project, store.LockFile) {
		w.t.Errorf("locked in %q", r.Lock)
	}
	return w.lock()
}

func (w *world) lock() *store.Lock {
	w.t.Helper()
	l, err := store.ReadLock(w.project)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) use() string {
	w.t.Helper()
	dirs, err := w.Store.Use(w.lock())
	if err != nil {
		w.t.Fatal(err)
	}
	version, _ := w.found(dirs)
	return version
}

func TestTheSecondTimeWorksOffline(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	k := key(t)
	l := w.locked(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k))
	got := l.Plugins["provider-tiny"]
	if got.Reference != ref || got.OCI != ociDigest || got.Version != "1.0.0" || got.Signer == "" || !slices.Equal(got.Contract, []string{"provider/1"}) {
		t.Errorf("%+v", got)
	}
	// The active version goes on; the folder keeps its own.
	w.install(ref, signed(t, testplugin.Tiny(t, "2.0.0", "/m"), k))
	w.Source = offline{}
	plans, err := w.FromLock(ctx, w.lock())
	if err != nil || len(plans) != 1 || plans[0].NeedsGrant {
		t.Fatalf("%+v, %v", plans, err)
	}
	if r := w.apply(plans[0], Consent{}); r.Active {
		t.Error("the lock of a folder changed what is used elsewhere")
	}
	version, _ := w.runs()
	if in := w.use(); in != "1.0.0" || version != "2.0.0" {
		t.Errorf("in the folder %s, elsewhere %s", in, version)
	}
}

func TestSomebodyElsesLock(t *testing.T) {
	ctx, author := context.Background(), newWorld(t)
	b := testplugin.Tiny(t, "1.0.0", "/m")
	author.locked(ref, b)
	text, err := os.ReadFile(filepath.Join(author.project, store.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.project, store.LockFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Use(w.lock()); err == nil {
		t.Error("used before it is there")
	}
	w.shelf.bundles["oci://registry.example/acme/provider-tiny@"+ociDigest] = b // and not by its tag
	plans, err := w.FromLock(ctx, w.lock())
	if err != nil || len(plans) != 1 || !plans[0].NeedsGrant {
		t.Fatalf("%+v, %v", plans, err)
	}
	_, err = w.Apply(ctx, plans[0], Consent{})
	testkit.WantError(t, err, "needs a grant")
	w.apply(plans[0], Consent{Hash: plans[0].Hash})
	if version := w.use(); version != "1.0.0" {
		t.Error(version)
	}
	if version, _ := w.runs(); version != "1.0.0" { // there was none before
		t.Error(version)
	}
	if after, _ := os.ReadFile(filepath.Join(w.project, store.LockFile)); string(after) != string(text) {
		t.Errorf("the lock was changed:\n%s", after)
	}
}

func TestALockIsKeptToTheLetter(t *testing.T) {
	b := testplugin.Tiny(t, "1.0.0", "/m")
	for name, tc := range map[string]struct {
		change func(*store.Locked)
		serves bundle.Bundle
		want   string
	}{
		"another bundle":  {func(*store.Locked) {}, testplugin.Tiny(t, "1.0.0", "/m", "/keys"), "the lock says digest"},
		"another plugin":  {func(*store.Locked) {}, with(b, func(b *bundle.Bundle) { b.ID = "provider-big" }), "the lock says digest"},
		"another signer":  {func(p *store.Locked) { p.Signer = "SHA256:" + strings.Repeat("A", 43) }, b, "it is not signed"},
		"more is granted": {func(p *store.Locked) { p.Permissions = "sha256:" + strings.Repeat("0", 64) }, b, "the lock says permissions"},
		"a newer number":  {func(p *store.Locked) { p.Version = "1.0.1" }, b, "the lock says version 1.0.1"},
		"a host":          {func(p *store.Locked) { p.Reference = "evil.example/x:1" }, b, "plugins.registries"},
		"no reference":    {func(p *store.Locked) { p.Reference = "what" }, b, "what"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, author := context.Background(), newWorld(t)
			l := author.locked("https://plugins.example/provider-tiny.wasm", b)
			w := newWorld(t)
			w.policy("registries: [plugins.example]")
			w.shelf.bundles["https://plugins.example/provider-tiny.wasm"] = tc.serves
			p := l.Plugins["provider-tiny"]
			tc.change(&p)
			plans, err := w.FromLock(ctx, &store.Lock{Dir: "/project", Plugins: map[string]store.Locked{"provider-tiny": p}})
			testkit.WantError(t, err, "/project/seer.lock", "provider-tiny", tc.want)
			if len(plans) != 0 {
				t.Errorf("%+v", plans)
			}
		})
	}
}

// Files travel with the folder.
func TestALockedFile(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	b, file := testplugin.Tiny(t, "1.0.0"), filepath.Join(w.project, "plugins", "provider-tiny.wasm")
	l := w.locked(file, b)
	if got := l.Plugins["provider-tiny"].Reference; got != "./plugins/provider-tiny.wasm" {
		t.Error(got)
	}
	moved := newWorld(t)
	l.Dir = moved.project
	moved.shelf.bundles[filepath.Join(moved.project, "plugins", "provider-tiny.wasm")] = b
	if plans, err := moved.FromLock(ctx, l); err != nil || len(plans) != 1 {
		t.Error(plans, err)
	}
}

func TestADamagedStoreIsRepairedFromTheLock(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	b := testplugin.Tiny(t, "1.0.0", "/m")
	l := w.locked(ref, b)
	in, err := w.Store.Lookup(l.Plugins["provider-tiny"].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in.File(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.shelf.bundles["oci://registry.example/acme/provider-tiny@"+ociDigest] = b
	plans, err := w.FromLock(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(plans[0], Consent{})
	if version := w.use(); version != "1.0.0" {
		t.Error(version)
	}
}
