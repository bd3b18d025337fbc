// Package bundle is a plugin as it travels: its manifest and module, with the
// signature and the conformance report that may go with them.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// Statement is what is signed, and whose SHA-256 is the bundle's digest.
func (b Bundle) Statement() []byte {
	return fmt.Appendf(nil, "seer-plugin-v1\nid %s\nversion %s\nmanifest %s\nwasm %s\n", b.ID, b.Version, sum(b.Manifest), sum(b.Wasm))
}

// Digest names the bundle.
func (b Bundle) Digest() string { return sum(b.Statement()) }

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(s[:])
}
