package bundle_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const manifest = "id: provider-tiny\nversion: 1.2.0\ndescription: |\n  Small \x1b[31mmachines.\n  More.\n"

var (
	empty = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	yaml  = strings.ReplaceAll(manifest, "\x1b", "\u00a0")
)

func module(text string) []byte {
	return wasmfile.AppendCustom(empty, sdk.ManifestSection, []byte(text))
}

func make1(t *testing.T) bundle.Bundle {
	t.Helper()
	b, err := bundle.New(module(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStatementIsTheContracts(t *testing.T) {
	b, err := bundle.New(empty, []byte("id: expose-x\nversion: 0.1.0\n"))
	if err != nil {
		t.Fatal(err)
	}
	// sha256sum of the two files, and of the statement, by coreutils.
	const want = `seer-plugin-v1
id expose-x
version 0.1.0
manifest sha256:8268a3092b565d02f5ff4630fa724fa3d81d10821f0f59235eaa2770bdce3cdb
wasm sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476
`
	if string(b.Statement()) != want {
		t.Errorf("statement:\n%s", b.Statement())
	}
	if have := b.Digest(); have != "sha256:a1ddfc014dc99365a048a0ca2e6d615c57ccaa0cd14ba945c67b0d013ce4635c" {
		t.Errorf("digest %s", have)
	}
}

func TestNew(t *testing.T) {
	b := make1(t)
	if b.ID != "provider-tiny" || b.Version != "1.2.0" || string(b.Manifest) != yaml || b.Description() != "Small [31mmachines." {
		t.Errorf("%q %q %q", b.ID, b.Version, b.Description())
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		wasm           []byte
		manifest, text string
	}{
		"not wasm":       {[]byte("#!/bin/sh\n"), "", "not a Wasm binary"},
		"nothing":        {nil, "", "not a Wasm binary"},
		"cut off":        {module(yaml)[:30], "", "truncated"},
		"component":      {[]byte{0, 'a', 's', 'm', 13, 0, 1, 0}, "", "component"},
		"no manifest":    {empty, "", "has no manifest"},
		"two manifests":  {module(yaml), yaml + "\n", "not the one inside"},
		"huge manifest":  {empty, yaml + strings.Repeat("#", bundle.MaxManifest), "64 KiB"},
		"no yaml":        {empty, "id: [\n", "cannot be read"},
		"a list":         {empty, "- id: x\n", "cannot be read"},
		"newline in id":  {empty, "id: \"x\\nversion 9.9.9\"\nversion: 1.0.0\n", "manifest's id"},
		"path as id":     {empty, "id: ../x\nversion: 1.0.0\n", "manifest's id"},
		"long id":        {empty, "id: " + strings.Repeat("x", 101) + "\nversion: 1.0.0\n", "manifest's id"},
		"newline at end": {empty, "id: x\nversion: \"1.0.0\\n\"\n", "manifest's version"},
		"version":        {empty, "id: x\nversion: 1.0\n", "manifest's version"},
	} {
		var text []byte
		if tc.manifest != "" {
			text = []byte(tc.manifest)
		}
		if _, err := bundle.New(tc.wasm, text); err == nil || !strings.Contains(err.Error(), tc.text) || sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(*bundle.Bundle){
		"said to be":     func(b *bundle.Bundle) { b.ID = "provider-other" },
		"is the version": func(b *bundle.Bundle) { b.Version = "1.2.0\nwasm x" },
		"signature":      func(b *bundle.Bundle) { b.Signature = make([]byte, bundle.MaxSignature+1) },
		"report":         func(b *bundle.Bundle) { b.Report = make([]byte, bundle.MaxReport+1) },
	} {
		b := make1(t)
		spoil(&b)
		if b.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := b.Write(t.TempDir()); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

func TestEveryPartChangesTheDigest(t *testing.T) {
	b := make1(t)
	was := b.Digest()
	b.Signature, b.Report = []byte("x"), []byte("y")
	if b.Digest() != was {
		t.Error("signature and report are not of the plugin")
	}
	for i, change := range []func(*bundle.Bundle){
		func(b *bundle.Bundle) { b.ID = "x" }, func(b *bundle.Bundle) { b.Version = "2.0.0" },
		func(b *bundle.Bundle) { b.Manifest = append(bytes.Clone(b.Manifest), '\n') }, func(b *bundle.Bundle) { b.Wasm = b.Wasm[:8] },
	} {
		other := make1(t)
		if change(&other); other.Digest() == was {
			t.Error(i)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add(module(yaml), []byte(nil))
	f.Add(empty, []byte("id: x\nversion: 1.0.0\n"))
	f.Add(empty, []byte("a: &a [*a]\nid: *a"))
	f.Fuzz(func(t *testing.T, wasm, manifest []byte) {
		b, err := bundle.New(wasm, manifest)
		if err != nil {
			return
		}
		if lines := bytes.Count(b.Statement(), []byte("\n")); lines != 5 {
			t.Fatalf("%d lines: %q", lines, b.Statement())
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
