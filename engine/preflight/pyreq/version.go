// Package pyreq reads Python requirements: versions and specifiers as in PEP
// 440, requirements and markers as in PEP 508.
package pyreq

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Version is a Python version. Its parts are in the order in which they count.
type Version struct {
	epoch   int
	release []int
	pre     string // a, b, rc; empty = none
	preN    int
	post    int // -1 = none
	dev     int // -1 = none
	local   []string
}

var versionPattern = lazyregexp.New(`(?i)^\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?` +
	`(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?` +
	`(?:[-_.]?(dev)[-_.]?(\d*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*$`)

// ParseVersion reads a version in any spelling that PEP 440 allows.
func ParseVersion(text string) (Version, error) {
	m := versionPattern().FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a version", text)
	}
	v := Version{post: -1, dev: -1}
	numbers := []struct {
		text string
		into *int
	}{{m[1], &v.epoch}, {m[4], &v.preN}}
	for _, part := range strings.Split(m[2], ".") {
		n, err := number(part)
		if err != nil {
			return Version{}, err
		}
		v.release = append(v.release, n)
	}
	v.pre = preName(m[3])
	if m[5] != "" || m[6] != "" {
		numbers = append(numbers, struct {
			text string
			into *int
		}{m[5] + m[7], &v.post})
	}
	if m[8] != "" {
		numbers = append(numbers, struct {
			text string
			into *int
		}{m[9], &v.dev})
	}
	for _, n := range numbers {
		var err error
		if *n.into, err = number(n.text); err != nil {
			return Version{}, err
		}
	}
	if m[10] != "" {
		v.local = strings.FieldsFunc(strings.ToLower(m[10]), func(r rune) bool { return strings.ContainsRune("-_.", r) })
	}
	return v, nil
}

// number reads digits; none at all is zero, as in 1.0a.
func number(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, fmt.Errorf("%s is too large a number for a version", text)
	}
	return int(n), nil
}

func preName(word string) string {
	switch strings.ToLower(word) {
	case "":
		return ""
	case "a", "alpha":
		return "a"
	case "b", "beta":
		return "b"
	default:
		return "rc"
	}
}

// IsPre reports whether v is a pre-release or development version.
func (v Version) IsPre() bool { return v.pre != "" || v.dev >= 0 }

// Compare is -1, 0 or 1 as v is before, the same as, or after w.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.comparePublic(w), compareLocal(v.local, w.local))
}

func (v Version) comparePublic(w Version) int {
	return cmp.Or(cmp.Compare(v.epoch, w.epoch), compareRelease(v.release, w.release),
		cmp.Compare(v.preRank(), w.preRank()), cmp.Compare(v.preN, w.preN),
		cmp.Compare(v.post, w.post), cmp.Compare(v.devRank(), w.devRank()))
}

// preRank puts 1.0.dev1 before 1.0a1 before 1.0.
func (v Version) preRank() int {
	switch {
	case v.pre == "a":
		return 1
	case v.pre == "b":
		return 2
	case v.pre == "rc":
		return 3
	case v.dev >= 0 && v.post < 0:
		return 0
	default:
		return 4
	}
}

// devRank puts a development version before the one it leads to.
func (v Version) devRank() int {
	if v.dev < 0 {
		return int(^uint(0) >> 1)
	}
	return v.dev
}

func compareRelease(a, b []int) int {
	for i := range max(len(a), len(b)) {
		if c := cmp.Compare(at(a, i), at(b, i)); c != 0 {
			return c
		}
	}
	return 0
}

func at(parts []int, i int) int {
	if i < len(parts) {
		return parts[i]
	}
	return 0
}

func compareLocal(a, b []string) int {
	for i := range min(len(a), len(b)) {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		c := 0
		switch {
		case errX == nil && errY == nil:
			c = cmp.Compare(x, y)
		case errX == nil:
			c = 1 // a number is after a word
		case errY == nil:
			c = -1
		default:
			c = cmp.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
