// Package bundle is a plugin as it travels: its manifest and module, with the
// signature and the conformance report that may go with them.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// The sizes that no part of a bundle may exceed, wherever it comes from.
const (
	MaxWasm      = 256 << 20
	MaxManifest  = 64 << 10
	MaxSignature = 16 << 10
	MaxReport    = 1 << 20
)

// Bundle is a plugin and what is said about it. Nothing of it has been believed yet:
// the host reads manifest and module, package sign checks the signature.
type Bundle struct {
	ID, Version string // as the manifest says
	Manifest    []byte // plugin.yaml
	Wasm        []byte
	Signature   []byte // SSH signature of Statement, armored; nil = unsigned
	Report      []byte // conformance report, JSON of an sdktest.Report; nil = none
}

// Origin is where a bundle came from.
type Origin struct {
	Reference string `json:"reference"`     // as the user wrote it
	OCI       string `json:"oci,omitempty"` // digest of the OCI manifest
	Resolved  string `json:"resolved"`      // the exact place: URL, absolute path, or host/name@sha256:…
}

// New makes a bundle of a module and its manifest. Without a manifest it takes the one
// in the module. Id and version are read from it; all else in it is the host's to check.
func New(wasm, manifest []byte) (Bundle, error) {
	if len(wasm) > MaxWasm {
		return Bundle{}, tooLarge("the module", MaxWasm)
	}
	module, err := wasmfile.Parse(wasm)
	if err != nil {
		return Bundle{}, sdk.Errorf(sdk.Invalid, "%v", err)
	}
	inside, has := module.Custom(sdk.ManifestSection)
	switch {
	case manifest == nil && !has:
		return Bundle{}, remedy.For(sdk.Errorf(sdk.Invalid, "a Wasm module, but no plugin: it has no manifest; build it with its manifest inside, or put ID.yaml beside it"),
			remedy.Remedy{Action: remedy.BuildPlugin})
	case manifest == nil:
		manifest = bytes.Clone(inside)
	case has && !bytes.Equal(inside, manifest):
		return Bundle{}, sdk.Errorf(sdk.Invalid, "the manifest beside the module is not the one inside; build the plugin again")
	}
	b := Bundle{Wasm: wasm, Manifest: manifest}
	if err := b.name(); err != nil {
		return Bundle{}, err
	}
	return b, nil
}

var (
	idPattern      = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	versionPattern = lazyregexp.New(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

const longestName = 100 // of an id or a version: they become file names, tags and lines

// name reads who the plugin is. What it accepts needs no quoting anywhere.
func (b *Bundle) name() error {
	if len(b.Manifest) > MaxManifest {
		return tooLarge("the manifest", MaxManifest)
	}
	m, err := b.header()
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "the manifest cannot be read: %s", httpretry.Printable(strings.ReplaceAll(err.Error(), "\n", " ")))
	}
	if !idPattern().MatchString(m.ID) || len(m.ID) > longestName {
		return sdk.Errorf(sdk.Invalid, "the manifest's id %.120q is not one: small letters, digits and single hyphens, like provider-tiny", m.ID)
	}
	if !versionPattern().MatchString(m.Version) || len(m.Version) > longestName {
		return sdk.Errorf(sdk.Invalid, "the manifest's version %.120q is not one: three numbers, like 1.2.0", m.Version)
	}
	b.ID, b.Version = m.ID, m.Version
	return nil
}

// header is the little of a manifest that is needed here.
type header struct {
	ID, Version, Description string
}

func (b Bundle) header() (header, error) {
	var h header
	err := yaml.Unmarshal(b.Manifest, &h)
	return h, err
}

// Description is the first line of the manifest's, fit to be shown in a list.
func (b Bundle) Description() string {
	h, err := b.header()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(h.Description), "\n")
	return httpretry.Printable(line)
}

// Statement is what is signed, and whose SHA-256 is the bundle's digest.
func (b Bundle) Statement() []byte {
	return fmt.Appendf(nil, "seer-plugin-v1\nid %s\nversion %s\nmanifest %s\nwasm %s\n", b.ID, b.Version, sum(b.Manifest), sum(b.Wasm))
}

// Digest names the bundle.
func (b Bundle) Digest() string { return sum(b.Statement()) }

// Check reports the first thing that keeps the bundle from travelling: a part that is
// too large, or an id or version that is not the manifest's.
func (b Bundle) Check() error {
	again, err := New(b.Wasm, b.Manifest)
	switch {
	case err != nil:
		return err
	case again.ID != b.ID || again.Version != b.Version:
		return sdk.Errorf(sdk.Invalid, "said to be %.120q %.120q, but the manifest says %s %s", b.ID, b.Version, again.ID, again.Version)
	case len(b.Signature) > MaxSignature:
		return tooLarge("the signature", MaxSignature)
	case len(b.Report) > MaxReport:
		return tooLarge("the conformance report", MaxReport)
	}
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(s[:])
}

func tooLarge(what string, limit int64) error {
	return sdk.Errorf(sdk.Invalid, "%s is larger than %s", what, size(limit))
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
