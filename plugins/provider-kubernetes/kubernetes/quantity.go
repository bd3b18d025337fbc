package kubernetes

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// units are the suffixes of quantities of the API.
var units = map[string]float64{
	"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}

// quantity reads an amount such as 500m, 16Gi or 1e3; ok is false for what is none.
func quantity(text string) (amount float64, ok bool) {
	number := strings.TrimRight(text, "numkKMGTPEi")
	unit, ok := units[text[len(number):]]
	if !ok {
		return 0, false
	}
	amount, err := strconv.ParseFloat(number, 64)
	amount *= unit
	return amount, err == nil && !math.IsNaN(amount) && !math.IsInf(amount, 0)
}

// amounts are resources by name.
type amounts map[string]float64

// amountsOf reads quantities. One that cannot be read counts as nothing.
func amountsOf(texts map[string]string) amounts {
	all := amounts{}
	for name, text := range texts {
		if n, ok := quantity(text); ok {
			all[name] = n
		}
	}
	return all
}

func (a amounts) add(b amounts) {
	for name, n := range b {
		a[name] += n
	}
}

// lacks reports whether there is less than wanted, and of what.
func (a amounts) lacks(wanted amounts) (name string, lacking bool) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name] > a[name]+1e-9 {
			return name, true
		}
	}
	return "", false
}

// cores and mebibytes write quantities.
func cores(n float64) string { return strconv.FormatInt(int64(math.Ceil(n*1000)), 10) + "m" }

func mebibytes(gb float64) string {
	return strconv.FormatInt(int64(math.Ceil(gb*1024)), 10) + "Mi"
}

// requests are what the scheduler reserves for a pod.
func (s podSpec) requests() amounts {
	all, first := amounts{}, amounts{}
	for _, c := range s.Containers {
		all.add(c.requests())
	}
	for _, c := range s.InitContainers {
		if c.RestartPolicy == "Always" { // it stays beside the others
			all.add(c.requests())
			continue
		}
		for name, n := range c.requests() {
			first[name] = max(first[name], n)
		}
	}
	for name, n := range first {
		all[name] = max(all[name], n)
	}
	all.add(amountsOf(s.Overhead))
	return all
}

// requests are those of a container. A limit without a request is one.
func (c container) requests() amounts {
	all := amountsOf(c.Resources.Limits)
	for name, n := range amountsOf(c.Resources.Requests) {
		all[name] = n
	}
	return all
}
