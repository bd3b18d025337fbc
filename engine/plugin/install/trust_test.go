package install

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// Where a version is from is asked about when it is from elsewhere, and another tag is not.
func TestAnotherTagIsNoOtherPlace(t *testing.T) {
	const old, next = "127.0.0.1:5000/me/provider-tiny:1.0.0", "127.0.0.1:5000/me/provider-tiny:1.1.0"
	w := newWorld(t)
	w.install(old, testplugin.Tiny(t, "1.0.0", "/m"))
	if p := w.plan(next, testplugin.Tiny(t, "1.1.0", "/m")); p.NeedsGrant || len(p.Why) > 0 {
		t.Errorf("another tag: %v", p.Why)
	}
	p := w.plan(next, signed(t, testplugin.Tiny(t, "1.1.0", "/m"), key(t)))
	if why := strings.Join(p.Why, "; "); !p.NeedsGrant || strings.Contains(why, " from ") || !strings.Contains(why, "is signed by "+p.Signer.Fingerprint+", the version that is used now by nobody") {
		t.Errorf("signed now: %s", why)
	}
	if p := w.plan("127.0.0.1:5000/you/provider-tiny:1.1.0", testplugin.Tiny(t, "1.1.0", "/m")); !p.NeedsGrant || !strings.Contains(strings.Join(p.Why, "; "), "the version that is used now is from "+old) {
		t.Errorf("another repository: %v", p.Why)
	}
}

func TestAChangeOfSignerStops(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	mine, other := key(t), key(t)
	p := w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), mine))
	if p.Signer == nil || p.Known || len(p.Warnings) != 0 {
		t.Errorf("%+v", p)
	}
	w.apply(p, Consent{Hash: p.Hash})
	var changed *store.SignerError
	for name, b := range map[string]bundle.Bundle{"another": signed(t, testplugin.Tiny(t, "1.1.0", "/m"), other), "none": testplugin.Tiny(t, "1.1.0", "/m")} {
		err := w.refuse(ref, b, p.Signer.Fingerprint, "Ask its author first", "accept the change")
		if !errors.As(err, &changed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := w.plan(ref, signed(t, testplugin.Tiny(t, "1.1.0", "/m"), mine)); !p.Known || p.NeedsGrant {
		t.Errorf("%+v", p)
	}
	// Somebody pins another while the user is looking at the plan.
	p = w.plan(ref, signed(t, testplugin.Tiny(t, "1.1.0", "/m"), mine))
	if err := w.Store.Repin(ctx, p.ID, "SHA256:"+strings.Repeat("A", 43)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Apply(ctx, p, Consent{Hash: p.Hash}); !errors.As(err, &changed) {
		t.Error(err)
	}
	if version, _ := w.runs(); version != "1.0.0" {
		t.Error(version)
	}
	if err := w.Store.Repin(ctx, p.ID, ""); err != nil {
		t.Fatal(err)
	}
	p = w.plan(ref, signed(t, testplugin.Tiny(t, "1.1.0", "/m"), other))
	if !p.NeedsGrant || len(p.Why) == 0 { // another author may not follow the grant of the first
		t.Errorf("%+v", p)
	}
	w.apply(p, Consent{Hash: p.Hash})
	if version, _ := w.runs(); version != "1.1.0" {
		t.Error(version)
	}
}

// A plugin that would be used in the place of another asks for nothing, and is asked about.
func TestNobodysPlaceIsTakenUnasked(t *testing.T) {
	used := func(file, id string, implements, provides string) host.Plugin {
		return host.Plugin{File: file, Manifest: sdk.Manifest{ID: id, Implements: []string{implements}, Provides: []string{"other", provides}}}
	}
	for name, c := range map[string]struct {
		other host.Plugin
		asked bool
	}{
		"its id":               {used("/bin/plugins/provider-tiny.wasm", "provider-tiny", "provider/1", "small"), true},
		"a name":               {used("/bin/plugins/provider-best.wasm", "provider-best", "provider/1", "tiny"), true},
		"a name of other kind": {used("/bin/plugins/fetch-tiny.wasm", "fetch-tiny", "fetcher/1", "tiny"), false},
		"nothing":              {used("/bin/plugins/provider-best.wasm", "provider-best", "provider/1", "best"), false},
	} {
		w := newWorld(t)
		w.Others = []host.Plugin{c.other}
		p := w.plan(ref, testplugin.Tiny(t, "1.0.0"))
		if p.NeedsGrant != c.asked || c.asked && !strings.Contains(strings.Join(p.Why, "\n"), c.other.File) {
			t.Errorf("%s: asked %v, why %q", name, p.NeedsGrant, p.Why)
		}
		if !c.asked {
			continue
		}
		if _, err := w.Apply(context.Background(), p, Consent{}); err == nil {
			t.Errorf("%s: installed without a yes", name)
		}
		w.apply(p, Consent{Hash: p.Hash})
		if version, _ := w.runs(); version != "1.0.0" {
			t.Errorf("%s: after the yes %q is used", name, version)
		}
	}
}

// What follows behind + orders no versions: an old one must not come back by it.
func TestAnotherBuildIsAskedAbout(t *testing.T) {
	w, k := newWorld(t), key(t)
	p := w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.0+2", "/m"), k))
	w.apply(p, Consent{Hash: p.Hash})
	if p = w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.0+1", "/m"), k)); !p.NeedsGrant || len(p.Why) == 0 {
		t.Errorf("%+v", p)
	}
	if p = w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.1+1", "/m"), k)); p.NeedsGrant {
		t.Errorf("%+v", p)
	}
}

func TestSignaturePolicies(t *testing.T) {
	k := key(t)
	wrong := signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k)
	wrong.Signature = signed(t, testplugin.Tiny(t, "1.0.0", "/n"), k).Signature // of another bundle
	broken := testplugin.Tiny(t, "1.0.0", "/m")
	broken.Signature = []byte("-----BEGIN SSH SIGNATURE-----\n")
	w := newWorld(t)
	for _, policy := range []string{"signatures: warn", "signatures: require"} {
		w.policy(policy)
		w.refuse(ref, wrong, "signature is wrong")
		w.refuse(ref, broken, "signature is wrong")
	}
	w.refuse(ref, testplugin.Tiny(t, "1.0.0", "/m"), "not signed", w.config)
	signer := w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k)).signer()
	w.policy("signatures: require, signers: ['SHA256:" + strings.Repeat("A", 43) + "']")
	w.refuse(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k), signer, "plugins.signers")
	w.policy("signatures: require, signers: ['" + signer + "']")
	w.plan(ref, signed(t, testplugin.Tiny(t, "1.0.0", "/m"), k))
	w.policy("signatures: off")
	p := w.plan(ref, wrong)
	if p.Signer != nil || len(p.Warnings) != 0 {
		t.Errorf("%+v", p)
	}
	w.apply(p, Consent{Hash: p.Hash})
	if got, err := w.Store.Signer(p.ID); got != "" || err != nil {
		t.Errorf("a signer that nobody looked at is remembered: %q, %v", got, err)
	}
}

func TestAWrongBundleIsRefused(t *testing.T) {
	w, good := newWorld(t), testplugin.Tiny(t, "1.0.0", "/m")
	manifest := func(text string) bundle.Bundle {
		b := good
		b.Manifest, b.Wasm = []byte(text), hosttest.Module(sdk.KindProvider, text)
		b.Version = "1.0.0"
		return b
	}
	head := "id: provider-tiny\nversion: 1.0.0\nimplements: [provider/1]\nprovides: [tiny]\n"
	for name, tc := range map[string]struct {
		b    bundle.Bundle
		want string
	}{
		"not Wasm":             {with(good, func(b *bundle.Bundle) { b.Wasm = []byte("#!/bin/sh\n") }), "not a Wasm"},
		"half of it":           {with(good, func(b *bundle.Bundle) { b.Wasm = b.Wasm[:len(b.Wasm)/2] }), ""},
		"another manifest":     {with(good, func(b *bundle.Bundle) { b.Manifest = append([]byte("# x\n"), b.Manifest...) }), "manifest"},
		"another id":           {with(good, func(b *bundle.Bundle) { b.ID = "provider-big" }), "provider-big"},
		"another version":      {with(good, func(b *bundle.Bundle) { b.Version = "9.9.9" }), "9.9.9"},
		"a path for an id":     {with(good, func(b *bundle.Bundle) { b.ID = "../../x" }), ""},
		"an unknown key":       {manifest(head + "root: true\n"), "root"},
		"no reason":            {manifest(head + "permissions: {http: [{destination: https://a.example, methods: [GET], paths: [/], reason: ''}]}\n"), "reason"},
		"a contract to come":   {manifest(strings.Replace(head, "provider/1", "provider/9", 1)), "provider/9"},
		"missing functions":    {manifest(strings.Replace(head, "provider/1", "fetcher/1", 1)), "does not export"},
		"too much memory":      {manifest(head + "limits: {memory_mb: 99999}\n"), "memory_mb"},
		"a destination inside": {manifest(head + "permissions: {http: [{destination: 'http://10.0.0.1', methods: [GET], paths: [/], reason: x}]}\n"), "not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := w.refuse(ref, tc.b, ref, tc.want)
			if strings.Contains(err.Error(), os.TempDir()) {
				t.Errorf("it names a file that is gone: %v", err)
			}
		})
	}
	if all, errs := w.Store.List(); len(all)+len(errs) != 0 {
		t.Error(all, errs)
	}
}

func with(b bundle.Bundle, change func(*bundle.Bundle)) bundle.Bundle {
	change(&b)
	return b
}

func TestConformanceReports(t *testing.T) {
	w := newWorld(t)
	b := testplugin.Tiny(t, "1.0.0")
	wasm := w.plan(ref, b).Wasm
	report := sdktest.Report{Kit: sdktest.KitVersion, Digest: wasm, Results: []sdktest.Result{
		{Check: "contract/one", Status: sdktest.Passed}, {Check: "contract/two\x1b[2J", Status: sdktest.Failed, Detail: "bad\r\nALL PASSED"}}}
	for name, tc := range map[string]struct {
		change func(*sdktest.Report)
		shown  bool
		warns  string
	}{
		"good":          {func(r *sdktest.Report) { r.Results[1].Status = sdktest.Passed }, true, ""},
		"failed":        {func(r *sdktest.Report) {}, true, "failed 1 of 2"},
		"another build": {func(r *sdktest.Report) { r.Digest = "sha256:" + strings.Repeat("0", 64) }, false, "another build"},
		"of no build":   {func(r *sdktest.Report) { r.Digest = "" }, false, "another build"},
		"an old kit":    {func(r *sdktest.Report) { r.Kit = 0 }, true, "older kit"},
	} {
		r := report
		r.Results = append([]sdktest.Result(nil), report.Results...)
		tc.change(&r)
		b.Report, _ = json.Marshal(r)
		p := w.plan(ref, b)
		if warnings := strings.Join(p.Warnings, "\n"); (p.Report != nil) != tc.shown || !strings.Contains(warnings, tc.warns) {
			t.Errorf("%s: %+v, %q", name, p.Report, warnings)
		}
		if p.Report != nil && strings.ContainsAny(p.Report.Results[1].Check+p.Report.Results[1].Detail, "\x1b\r\n") {
			t.Errorf("%s: it speaks to the terminal: %+q", name, p.Report.Results[1].Detail)
		}
	}
	b.Report = []byte("{")
	if p := w.plan(ref, b); p.Report != nil || !strings.Contains(strings.Join(p.Warnings, ""), "cannot be read") {
		t.Error(p.Warnings)
	}
}
