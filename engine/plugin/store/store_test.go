package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

func TestStoredPluginIsFoundByAHost(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0", "/machines"))
	if dirs, err := w.Dirs(); err != nil || len(dirs) != 0 {
		t.Fatalf("before it is active: %v, %v", dirs, err)
	}
	if err := w.Activate(ctx, in.Digest); err != nil {
		t.Fatal(err)
	}
	_, err := w.host().Provider(ctx, "tiny")
	testkit.WantError(t, err, "grant it to the plugin")
	w.grant(in)
	if _, err := w.host().Provider(ctx, "tiny"); err != nil {
		t.Fatal(err)
	}
	got, err := w.Get(in.Digest)
	if err != nil || got.Bundle.Digest() != in.Digest || got.Origin.Reference != "./tiny.wasm" {
		t.Errorf("got %+v, %v", got.Installed, err)
	}
	if info, err := os.Stat(in.File()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestRevocationHoldsAtTheNextLookup(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	w.grant(w.put(testplugin.Tiny(t, "1.0.0", "/machines")))
	h := w.host()
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Fatal(err)
	}
	if n, err := w.open(nil).Revoke(ctx, "provider-tiny"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	_, err := h.Provider(ctx, "tiny")
	testkit.WantError(t, err, "nobody has granted")
	if n, err := w.Revoke(ctx, "provider-tiny"); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// A grant is of one file: another one with the same id and version has none.
func TestGrantIsOfOneModule(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	w.grant(w.put(testplugin.Tiny(t, "1.0.0", "/machines")))
	other := w.put(testplugin.Tiny(t, "1.0.0", "/machines", "/keys"))
	if err := w.Activate(ctx, other.Digest); err != nil {
		t.Fatal(err)
	}
	_, err := w.host().Provider(ctx, "tiny")
	testkit.WantError(t, err, "nobody has granted")
}

func TestChangedFilesAreNotUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		paths  []string // that it asks for
		change func(in Installed) error
	}{
		"module of one that asks":         {[]string{"/m"}, func(in Installed) error { return appendTo(in.File(), "\x00\x02\x01x") }},
		"module of one that asks nothing": {nil, func(in Installed) error { return appendTo(in.File(), "\x00\x02\x01x") }},
		"manifest":                        {[]string{"/m"}, func(in Installed) error { return appendTo(in.Dir+"/provider-tiny.yaml", "\n") }},
		"record":                          {[]string{"/m"}, func(in Installed) error { return os.WriteFile(in.Dir+"/origin.json", []byte("{"), 0o600) }},
		"module is gone":                  {[]string{"/m"}, func(in Installed) error { return os.Remove(in.File()) }},
		"module of one that asks is another": {[]string{"/m"}, func(in Installed) error {
			return os.WriteFile(in.File(), testplugin.Tiny(t, "1.0.0", "/m", "/n").Wasm, 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, w := context.Background(), newWorld(t)
			b := testplugin.Tiny(t, "1.0.0", tc.paths...)
			in := w.put(b)
			w.grant(in)
			if err := tc.change(in); err != nil {
				t.Fatal(err)
			}
			dirs, err := w.Dirs()
			if err == nil && len(dirs) == 1 {
				_, err = w.host().Provider(ctx, "tiny")
			}
			if err == nil {
				t.Fatal("it is used")
			}
			w.put(b) // installing it again repairs it
			if _, err := w.host().Provider(ctx, "tiny"); err != nil {
				t.Errorf("after it was installed again: %v", err)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func TestASignatureMayComeLater(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	b := testplugin.Tiny(t, "1.0.0")
	w.put(b)
	b.Signature = []byte("signed")
	if _, err := w.Put(ctx, b, bundle.Origin{}, fingerprintA); err != nil {
		t.Fatal(err)
	}
	b.Signature = nil
	if in, err := w.Put(ctx, b, bundle.Origin{}, ""); err != nil || in.Signer != fingerprintA {
		t.Fatalf("%+v, %v", in, err)
	}
	if got, err := w.Get(b.Digest()); err != nil || string(got.Bundle.Signature) != "signed" || got.Signer != fingerprintA {
		t.Errorf("%+v, %v", got.Installed, err)
	}
}

func TestHalfABundleIsNeverSeen(t *testing.T) {
	b := testplugin.Tiny(t, "1.0.0", "/m")
	b.Signature, b.Report = []byte("s"), []byte("{}")
	for n := 1; ; n++ {
		w, steps := newWorld(t), 0
		s := w.open(func(string) error {
			if steps++; steps == n {
				return syscall.ENOSPC
			}
			return nil
		})
		_, err := s.Put(context.Background(), b, bundle.Origin{}, "")
		if err == nil {
			if n < 6 {
				t.Errorf("only %d steps were tried", n)
			}
			return
		}
		if all, errs := w.List(); len(all) != 0 || len(errs) != 0 {
			t.Errorf("step %d: %v, %v", n, all, errs)
		}
		if entries, _ := os.ReadDir(w.BundleDir()); len(entries) != 0 {
			t.Errorf("step %d left %v", n, entries)
		}
	}
}

func TestWhatAKilledWriterLeftIsRemoved(t *testing.T) {
	w := newWorld(t)
	half := filepath.Join(w.BundleDir(), ".tmp-1")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(half, "x.wasm"), "x", 0o600)
	w.put(testplugin.Tiny(t, "1.0.0"))
	if entries, _ := os.ReadDir(w.BundleDir()); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

func TestRemove(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0", "/m"))
	w.grant(in)
	if err := w.Remove(ctx, in.Digest); err != nil {
		t.Fatal(err)
	}
	if dirs, err := w.Dirs(); len(dirs) != 0 || err != nil {
		t.Error(dirs, err)
	}
	var gone *NotStoredError
	if err := w.Remove(ctx, in.Digest); !errors.As(err, &gone) {
		t.Error(err)
	}
	for _, digest := range []string{"", "../../x", "sha256:" + strings.Repeat("A", 64), "sha256:../../x"} {
		testkit.WantError(t, w.Remove(ctx, digest), "not a digest")
	}
	// What is missing is told, and does not hide the rest.
	one, two := w.put(testplugin.Tiny(t, "1.0.0")), w.put(expose(t))
	w.grant(one)
	w.grant(two)
	if err := os.RemoveAll(one.Dir); err != nil {
		t.Fatal(err)
	}
	dirs, err := w.Dirs()
	testkit.WantError(t, err, "provider-tiny", "install it")
	if !slices.Equal(dirs, []string{two.Dir}) {
		t.Error(dirs)
	}
}

// Nothing becomes active that another process is just removing.
func TestActivateWhatIsBeingRemoved(t *testing.T) {
	for name, activate := range map[string]func(context.Context, *Store, Installed) error{
		"adopt": func(ctx context.Context, s *Store, in Installed) error {
			return s.Adopt(ctx, Adoption{ID: in.ID, Digest: in.Digest, Activate: true, Unlooked: true})
		},
		"activate": func(ctx context.Context, s *Store, in Installed) error { return s.Activate(ctx, in.Digest) },
		"pending":  func(ctx context.Context, s *Store, in Installed) error { return s.SetPending(ctx, in.ID, in.Digest) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.put(expose(t))
			waits, done := make(chan struct{}), make(chan error, 1)
			other := w.open(nil)
			remover := w.open(func(step string) error {
				if step == "remove" {
					go func() {
						ctx := testkit.AskedContext{Context: t.Context(), Asked: sync.OnceFunc(func() { close(waits) })}
						done <- activate(ctx, other, in)
					}()
					<-waits // it wants the lock, which this process holds
				}
				return nil
			})
			if err := remover.Remove(t.Context(), in.Digest); err != nil {
				t.Error(err)
			}
			var gone *NotStoredError
			if err := <-done; !errors.As(err, &gone) {
				t.Errorf("it was made active: %v", err)
			}
			w.nothingIsActive()
		})
	}
}

// No other process can make a bundle active between the parts of its removal.
func TestRemovalIsOneChange(t *testing.T) {
	w := newWorld(t)
	in, other := w.put(expose(t)), w.open(nil)
	var asked atomic.Int32 // once before each look at a lock
	ctx := testkit.AskedContext{Context: t.Context(), Asked: func() {
		if asked.Add(1) == 2 {
			if err := other.Activate(context.Background(), in.Digest); err != nil {
				t.Error(err)
			}
		}
	}}
	if err := w.Remove(ctx, in.Digest); err != nil {
		t.Error(err)
	}
	w.nothingIsActive()
}

// nothingIsActive checks that no plugin is active or waits.
func (w *world) nothingIsActive() {
	w.t.Helper()
	active, err := w.Active()
	pending, pendingErr := w.Pending()
	if len(active)+len(pending) > 0 || err != nil || pendingErr != nil {
		w.t.Errorf("active %v, pending %v, %v, %v", active, pending, err, pendingErr)
	}
}

func TestManyProcessesAtOnce(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	var all []Installed
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"} {
		all = append(all, w.put(testplugin.Tiny(t, version, "/m")))
	}
	var wg sync.WaitGroup
	for _, in := range all {
		s := w.open(nil)
		wg.Go(func() {
			g := Grant{ID: in.ID, Digest: in.Wasm, Asked: in.Access, Lines: in.Access}
			if err := s.Adopt(ctx, Adoption{ID: in.ID, Digest: in.Digest, Grant: &g, Activate: true}); err != nil {
				t.Error(err)
			}
			if _, err := s.Put(ctx, testplugin.Tiny(t, in.Version, "/m"), bundle.Origin{}, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if grants, _, err := w.Grants(); len(grants) != len(all) || err != nil {
		t.Errorf("%d grants, %v", len(grants), err)
	}
}

func TestFullDiskIsOneClearError(t *testing.T) {
	w := newWorld(t)
	s := w.open(func(string) error { return full("/place", syscall.ENOSPC) })
	_, err := s.Put(context.Background(), testplugin.Tiny(t, "1.0.0"), bundle.Origin{}, "")
	if !errors.Is(err, state.ErrNoSpace) {
		t.Error(err)
	}
	testkit.WantError(t, err, "no space left to write /place", "provider-tiny 1.0.0")
}
