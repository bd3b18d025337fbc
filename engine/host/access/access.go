// Package access is what a plugin may do beyond computing: the permissions of a
// manifest as lines of text, sets of such lines, and what is left of a manifest
// under a grant. docs/plugins/trust.md has the form of each line.
package access

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// Set is permissions as lines, sorted and each once. The nil set allows nothing.
type Set []string

// Line is one permission with its reason, for people.
type Line struct {
	Text   string `json:"text"`   // as in a [Set]
	Plain  string `json:"plain"`  // the same in words: "send GET requests to https://api.tiny.example, paths /machines"
	Reason string `json:"reason"` // the manifest's; "" where the manifest has none
}

// Of is everything that a manifest asks for. The manifest must be valid.
func Of(m sdk.Manifest) Set {
	panic("not yet")
}

// Lines are the permissions of a manifest with their reasons, in the manifest's order.
func Lines(m sdk.Manifest) []Line {
	panic("not yet")
}

// Hash is the permission hash: the SHA-256 of the lines, each ended by a newline.
func (s Set) Hash() string {
	h := sha256.New()
	for _, line := range s {
		h.Write([]byte(line + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Has reports whether a permission is in the set.
func (s Set) Has(line string) bool { return slices.Contains(s, line) }

// Without are the lines of s that are not in other: what s allows beyond it.
func (s Set) Without(other Set) Set {
	var more Set
	for _, line := range s {
		if !other.Has(line) {
			more = append(more, line)
		}
	}
	return more
}

// Limit is what is left of a manifest when only the lines of granted hold. The result
// has no permission, binding, capture or setting that is not granted.
func Limit(m sdk.Manifest, granted Set) sdk.Manifest {
	panic("not yet")
}
