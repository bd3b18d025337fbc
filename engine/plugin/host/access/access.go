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
	Text string `json:"text"` // as in a [Set]
	// Plain is the same in words, in the form "may …": "send GET requests to
	// https://api.tiny.example, paths /machines". Lines of one permission of the manifest
	// follow each other and have one Plain.
	Plain  string `json:"plain"`
	Reason string `json:"reason"` // the manifest's, on one line; "" where the manifest has none
}

// Of is everything that a manifest asks for. The manifest must be valid.
func Of(m sdk.Manifest) Set {
	var s []string
	for _, l := range Lines(m) {
		s = append(s, l.Text)
	}
	return Make(s...)
}

// Make makes a set of lines in any order.
func Make(lines ...string) Set {
	s := slices.Clone(lines)
	slices.Sort(s)
	return Set(slices.Compact(s))
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
func (s Set) Has(line string) bool {
	_, has := slices.BinarySearch(s, line)
	return has
}

// Without are the lines of s that are not in other: what s allows beyond it.
func (s Set) Without(other Set) Set {
	return s.filter(func(line string) bool { return !other.Has(line) })
}

// And are the lines that are in both sets.
func (s Set) And(other Set) Set { return s.filter(other.Has) }

func (s Set) filter(keep func(string) bool) Set {
	var out Set
	for _, line := range s {
		if keep(line) {
			out = append(out, line)
		}
	}
	return out
}
