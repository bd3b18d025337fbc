// Package gpu gives the GPUs of all backends one set of names: MODEL, then the
// memory where a model comes with several, then the form where it is known:
// H100-SXM, A100-80GB-PCIE, RTX-4090, L4.
package gpu

import (
	"regexp"
	"slices"
	"strings"
)

// Any is what a query for every GPU wants.
const Any = "*"

// Name is a GPU's name in parts, in capitals.
type Name struct {
	Model  string // H100, A100, RTX-6000-ADA
	Memory string // 80GB; only where the model comes with several, or as the user wrote it
	Form   string // SXM, PCIE, NVL; empty = unknown, or any
	Exact  bool   // written with "!": not to be upgraded by the backend
}

var (
	noise   = []string{"NVIDIA", "AMD", "GEFORCE", "TESLA", "INSTINCT", "GENERATION", "BLACKWELL", "SERVER", "EDITION", "OAM", "GRAPHICS", "GPU"}
	forms   = map[string]string{"SXM": "SXM", "SXM2": "SXM", "SXM4": "SXM", "SXM5": "SXM", "HBM3": "SXM", "PCIE": "PCIE", "NVL": "NVL"}
	memory  = regexp.MustCompile(`^\d+GB$`)
	between = regexp.MustCompile(`[\s_-]+`)
	several = []string{"A100", "V100", "RTX-3080", "RTX-A4500"} // models with more than one size of memory
	same    = map[string]string{"A10G": "A10"}
)

// Parse reads a name as a user or a backend writes it. It never fails: what it does
// not know stays as it is.
func Parse(text string) Name {
	upper := strings.ToUpper(strings.ToValidUTF8(text, ""))
	bare := strings.TrimRight(upper, "! -_\t\r\n")
	n := Name{Exact: strings.Contains(upper[len(bare):], "!")}
	var model []string
	for _, word := range between.Split(bare, -1) {
		form, isForm := forms[word]
		switch {
		case word == "" || slices.Contains(noise, word):
		case isForm:
			n.Form = form
		case memory.MatchString(word):
			n.Memory = word
		default:
			model = append(model, word)
		}
	}
	n.Model = strings.Join(model, "-")
	if name, ok := same[n.Model]; ok {
		n.Model = name
	}
	return n
}

// Canonical is the name under which everybody knows the GPU that a backend calls text.
func Canonical(text string) string {
	n := Parse(text)
	if !slices.Contains(several, n.Model) {
		n.Memory = ""
	}
	return n.String()
}

// String is the name in one piece.
func (n Name) String() string {
	out := n.Model
	for _, part := range []string{n.Memory, n.Form} {
		if part != "" {
			out += "-" + part
		}
	}
	if n.Exact {
		out += "!"
	}
	return out
}

// Match reports whether a user who writes want is served by have: A100 by any A100,
// A100-80GB by one with that memory, H100-SXM by no other form. An offer that does
// not say its form or memory is taken to have what is wanted. [Any] is served by all.
func Match(want, have string) bool {
	if want == Any {
		return true
	}
	w, h := Parse(want), Parse(have)
	fits := func(want, have string) bool { return want == "" || have == "" || want == have }
	return w.Model == h.Model && fits(w.Memory, h.Memory) && fits(w.Form, h.Form)
}
