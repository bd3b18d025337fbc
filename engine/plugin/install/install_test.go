package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

const ref = "registry.example/acme/provider-tiny:1"

func TestNothingIsInstalledWithoutAYes(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	p := w.plan(ref, testplugin.Tiny(t, "1.0.0", "/m", "/n"))
	if !p.NeedsGrant || p.Version != "1.0.0" || p.Description != "tiny machines" || p.Origin.Resolved == "" || p.Active != nil ||
		len(p.Lines) != 2 || p.Lines[0].Reason != "to rent" || p.Hash != p.Access.Hash() || len(p.Warnings) != 1 {
		t.Errorf("%+v", p)
	}
	for _, given := range []string{"", "sha256:wrong", "yes"} {
		_, err := w.Apply(ctx, p, Consent{Hash: given})
		var needs *GrantError
		if !errors.As(err, &needs) || needs.Given != given {
			t.Errorf("%q: %v", given, err)
		}
		testkit.WantError(t, err, p.Hash, "nothing was installed")
	}
	if all, errs := w.Store.List(); len(all)+len(errs) != 0 {
		t.Error(all, errs)
	}
	r := w.apply(p, Consent{Hash: p.Hash, By: "you"})
	if version, lines := w.runs(); !r.Active || version != "1.0.0" || !slices.Equal(lines, []string{get("/m"), get("/n")}) {
		t.Errorf("%+v runs %s with %q", r, version, lines)
	}
	// Once more changes nothing and asks nothing.
	if p := w.plan(ref, testplugin.Tiny(t, "1.0.0", "/m", "/n")); p.NeedsGrant || len(p.Added)+len(p.Removed) != 0 {
		t.Errorf("again: %+v", p)
	}
}

func TestAPluginThatAsksForNothingNeedsNoGrant(t *testing.T) {
	w := newWorld(t)
	p := w.plan(ref, testplugin.Tiny(t, "1.0.0"))
	if p.NeedsGrant {
		t.Error("it is asked")
	}
	w.apply(p, Consent{})
	if version, _ := w.runs(); version != "1.0.0" {
		t.Error(version)
	}
}

func TestUpdates(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	w.install(ref, testplugin.Tiny(t, "1.0.0", "/m", "/n"))
	// No more than is granted: at once.
	p := w.plan(ref, testplugin.Tiny(t, "1.1.0", "/m"))
	if p.NeedsGrant || !slices.Equal(p.Removed, []string{get("/n")}) || p.Active.Version != "1.0.0" {
		t.Errorf("%+v", p)
	}
	w.apply(p, Consent{})
	if version, lines := w.runs(); version != "1.1.0" || !slices.Equal(lines, []string{get("/m")}) {
		t.Errorf("runs %s with %q", version, lines)
	}
	// More: it waits, and the old one goes on.
	p = w.plan(ref, testplugin.Tiny(t, "1.2.0", "/m", "/keys"))
	if !p.NeedsGrant || !slices.Equal(p.Added, []string{get("/keys")}) {
		t.Errorf("%+v", p)
	}
	r := w.apply(p, Consent{})
	if version, _ := w.runs(); !r.Pending || r.Active || version != "1.1.0" {
		t.Errorf("%+v runs %s", r, version)
	}
	if pending, err := w.Store.Pending(); err != nil || pending["provider-tiny"] != p.Digest {
		t.Error(pending, err)
	}
	// `seer plugin grant` lets it in.
	if err := w.Store.Grant(ctx, store.Grant{ID: p.ID, Digest: p.Wasm, Asked: p.Access, Lines: p.Access, By: "you"}); err != nil {
		t.Fatal(err)
	}
	pending, _ := w.Store.Pending()
	if version, lines := w.runs(); version != "1.2.0" || len(lines) != 2 || len(pending) != 0 {
		t.Errorf("runs %s with %q; waiting: %v", version, lines, pending)
	}
}

// What was left out of a grant stays out of the next version's.
func TestAPartIsCarriedOver(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	p := w.plan(ref, testplugin.Tiny(t, "1.0.0", "/m", "/n"))
	_, err := w.Apply(ctx, p, Consent{Hash: p.Hash, Only: []string{"http GET https://evil.example /"}})
	testkit.WantError(t, err, "does not ask for", "evil.example")
	w.apply(p, Consent{Hash: p.Hash, Only: []string{get("/m")}})
	p = w.plan(ref, testplugin.Tiny(t, "1.1.0", "/m", "/n"))
	if p.NeedsGrant {
		t.Error("it is asked again")
	}
	w.apply(p, Consent{})
	if version, lines := w.runs(); version != "1.1.0" || !slices.Equal(lines, []string{get("/m")}) {
		t.Errorf("runs %s with %q", version, lines)
	}
}

func TestARevokedGrantIsNotFollowed(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	w.install(ref, testplugin.Tiny(t, "1.0.0", "/m"))
	p := w.plan(ref, testplugin.Tiny(t, "1.1.0", "/m"))
	if _, err := w.Store.Revoke(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Apply(ctx, p, Consent{}); !errors.Is(err, store.ErrRevoked) {
		t.Error(err)
	}
	if p := w.plan(ref, testplugin.Tiny(t, "1.1.0", "/m")); !p.NeedsGrant {
		t.Error("it is not asked")
	}
}

func TestWhatLooksOddIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		ref     string
		version string
		want    string
	}{
		"an older version":      {ref, "0.9.0", "older (0.9.0)"},
		"a pre-release of it":   {ref, "1.0.0-rc.1", "older"},
		"the same number again": {ref, "1.0.0", "without a new number"},
		"another place":         {"registry.example/evil/provider-tiny:2", "2.0.0", "no signature says"},
		"a file":                {"./provider-tiny.wasm", "2.0.0", "no signature says"},
		"an address":            {"https://evil.example/provider-tiny.wasm", "2.0.0", "no signature says"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.install(ref, testplugin.Tiny(t, "1.0.0", "/m", "/n"))
			p := w.plan(tc.ref, testplugin.Tiny(t, tc.version, "/m"))
			if !p.NeedsGrant || !strings.Contains(strings.Join(p.Why, "\n"), tc.want) {
				t.Errorf("%v, %q", p.NeedsGrant, p.Why)
			}
			w.apply(p, Consent{})
			if version, lines := w.runs(); version != "1.0.0" || len(lines) != 2 {
				t.Errorf("without a yes: %s with %q", version, lines)
			}
			w.apply(p, Consent{Hash: p.Hash})
			if version, lines := w.runs(); version != tc.version || len(lines) != 1 {
				t.Errorf("with a yes: %s with %q", version, lines)
			}
		})
	}
}

func TestAnotherTagOrSignatureIsTheSamePlace(t *testing.T) {
	w, k := newWorld(t), key(t)
	w.install(ref, testplugin.Tiny(t, "1.0.0", "/m"))
	if p := w.plan("oci://registry.example/acme/provider-tiny:2", testplugin.Tiny(t, "2.0.0", "/m")); p.NeedsGrant {
		t.Error(p.Why)
	}
	w = newWorld(t)
	w.install(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k))
	if p := w.plan("https://mirror.example/provider-tiny.wasm", signed(t, testplugin.Tiny(t, "2.0.0", "/m"), k)); p.NeedsGrant || !p.Known {
		t.Error(p.Why)
	}
}

func TestPolicyIsAskedBeforeTheNetwork(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	w.policy("registries: [registry.example]")
	for _, r := range []string{"oci://evil.example/x:1", "evil.example/x:1", "https://evil.example/x.wasm"} {
		_, err := w.Plan(ctx, Request{Ref: r})
		testkit.WantError(t, err, "evil.example", "plugins.registries", w.config)
	}
	if _, err := w.Plan(ctx, Request{Ref: "what"}); err == nil {
		t.Error("no reference")
	}
	if n := w.shelf.asked.Load(); n != 0 {
		t.Errorf("asked %d times", n)
	}
	w.plan(ref, testplugin.Tiny(t, "1.0.0"))
	w.plan("./provider-tiny.wasm", testplugin.Tiny(t, "1.0.0"))
	w.policy("destinations: ['https://other.example']")
	if p := w.plan(ref, testplugin.Tiny(t, "1.0.0", "/m")); len(p.Beyond) != 1 || !strings.Contains(strings.Join(p.Warnings, "\n"), w.config) {
		t.Errorf("%+v", p)
	}
	w.policy("signature: off")
	w.refuse(ref, testplugin.Tiny(t, "1.0.0"), w.config+":1")
}

func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		other := Installer{Store: w.open(nil), Source: &shelf{bundles: nil}}
		b := testplugin.Tiny(t, version, "/m")
		other.Source.(*shelf).bundles = map[string]bundle.Bundle{ref: b}
		wg.Go(func() {
			p, err := other.Plan(context.Background(), Request{Ref: ref, LockDir: w.project})
			if err == nil {
				_, err = other.Apply(context.Background(), p, Consent{Hash: p.Hash})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	version, lines := w.runs()
	if version == "" || len(lines) != 1 {
		t.Errorf("runs %q with %q", version, lines)
	}
	l, err := store.ReadLock(w.project)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Use(l); err != nil {
		t.Error(err)
	}
}

func TestFilesInLocks(t *testing.T) {
	dir := t.TempDir()
	for ref, want := range map[string]string{
		filepath.Join(dir, "a", "x.wasm"):          "./a/x.wasm",
		filepath.Join(dir, "..", "x.wasm"):         filepath.Join(filepath.Dir(dir), "x.wasm"),
		"registry.example/x:1":                     "registry.example/x:1",
		"https://plugins.example/provider-x.wasm":  "https://plugins.example/provider-x.wasm",
		filepath.Join(dir, "name with space.wasm"): "./name with space.wasm",
	} {
		if got, err := reference(ref, dir); got != want || err != nil {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reference("./x.wasm", ""); got != filepath.Join(here, "x.wasm") || err != nil {
		t.Error(got, err)
	}
}
