package install

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// older reports whether version a comes before b, as semantic versions say.
func older(a, b string) bool { return compareVersions(a, b) < 0 }

func compareVersions(a, b string) int {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	coreA, preA, hasA := strings.Cut(a, "-")
	coreB, preB, hasB := strings.Cut(b, "-")
	if c := slices.CompareFunc(strings.Split(coreA, "."), strings.Split(coreB, "."), compareParts); c != 0 {
		return c
	}
	if hasA != hasB { // 1.0.0-rc.1 comes before 1.0.0
		if hasA {
			return -1
		}
		return 1
	}
	return slices.CompareFunc(strings.Split(preA, "."), strings.Split(preB, "."), compareParts)
}

// compareParts compares numbers as numbers, and takes them for less than words.
func compareParts(a, b string) int {
	_, errA := strconv.ParseUint(a, 10, 64)
	_, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
