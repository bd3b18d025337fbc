package install

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/testkit"
)

func get(path string) string { return "http GET https://api.tiny.example " + path }

// shelf is a [Source] of bundles that lie ready.
type shelf struct {
	bundles map[string]bundle.Bundle // by reference
	asked   atomic.Int64
}

func (s *shelf) Fetch(_ context.Context, ref string) (bundle.Bundle, bundle.Origin, error) {
	s.asked.Add(1)
	b, ok := s.bundles[ref]
	if !ok {
		return b, bundle.Origin{}, fmt.Errorf("%s is not there", ref)
	}
	from := bundle.Origin{Reference: ref, Resolved: ref + "@exactly"}
	if strings.HasPrefix(ref, "registry.") || strings.HasPrefix(ref, "oci://") {
		from.OCI = ociDigest
	}
	return b, from, nil
}

var ociDigest = "sha256:" + strings.Repeat("0c1", 21) + "0"

// offline fails when it is asked at all.
type offline struct{}

func (offline) Fetch(_ context.Context, ref string) (bundle.Bundle, bundle.Origin, error) {
	return bundle.Bundle{}, bundle.Origin{}, errors.New("the network was asked for " + ref)
}

type world struct {
	Installer
	t                            testing.TB
	data, state, config, project string
	shelf                        *shelf
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, data: filepath.Join(dir, "data"), state: filepath.Join(dir, "state"), config: filepath.Join(dir, "config.yaml"),
		project: filepath.Join(dir, "project"), shelf: &shelf{bundles: map[string]bundle.Bundle{}}}
	if err := os.Mkdir(w.project, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Installer = Installer{Store: w.open(nil), Source: w.shelf}
	return w
}

// open is what another process does.
func (w *world) open(step func(string) error) *store.Store {
	w.t.Helper()
	s, err := store.Open(store.Options{DataDir: w.data, StateDir: w.state, ConfigFile: w.config, Step: step})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) policy(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.config, []byte("plugins: {"+text+"}\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) plan(ref string, b bundle.Bundle) *Plan {
	w.t.Helper()
	w.shelf.bundles[ref] = b
	p, err := w.Plan(context.Background(), Request{Ref: ref})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// refuse is a plan that must not come about.
func (w *world) refuse(ref string, b bundle.Bundle, parts ...string) error {
	w.t.Helper()
	w.shelf.bundles[ref] = b
	_, err := w.Plan(context.Background(), Request{Ref: ref})
	testkit.WantError(w.t, err, parts...)
	return err
}

// install says yes to everything.
func (w *world) install(ref string, b bundle.Bundle) Result {
	w.t.Helper()
	p := w.plan(ref, b)
	return w.apply(p, Consent{Hash: p.Hash, By: "you"})
}

func (w *world) apply(p *Plan, c Consent) Result {
	w.t.Helper()
	r, err := w.Apply(context.Background(), p, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// runs tells which version a host would run, and with what permissions.
func (w *world) runs() (version string, lines []string) {
	w.t.Helper()
	dirs, err := w.Store.Dirs()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.found(dirs)
}

func (w *world) found(dirs []string) (version string, lines []string) {
	w.t.Helper()
	h, err := host.New(host.Options{Dirs: dirs, CacheDir: filepath.Join(w.data, "cache"), Access: w.Store.Decide})
	if err != nil {
		w.t.Fatal(err)
	}
	defer h.Close(context.Background())
	plugins, errs := h.Plugins(context.Background())
	if len(errs) > 0 || len(plugins) > 1 {
		w.t.Fatal(plugins, errs)
	}
	if _, err := h.Provider(context.Background(), "tiny"); err != nil {
		return "", nil
	}
	if g := plugins[0].Grant; g != nil {
		lines = g.Lines
	}
	return plugins[0].Manifest.Version, lines
}

// key makes a key in a file.
func key(t testing.TB) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func signed(t testing.TB, b bundle.Bundle, key string) bundle.Bundle {
	t.Helper()
	var err error
	if b.Signature, _, err = sign.Sign(context.Background(), b.Statement(), key, sign.Options{}); err != nil {
		t.Fatal(err)
	}
	return b
}
