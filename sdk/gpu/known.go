package gpu

import (
	"slices"
	"strings"
)

// known are the models that clouds and workstations have. A backend may have others.
var known = []string{
	"A2", "A10", "A16", "A30", "A40", "A100", "A800", "B200", "B300", "GB200", "GB300", "GH200", "H20", "H100", "H200", "H800",
	"K80", "L4", "L20", "L40", "L40S", "M40", "M60", "P4", "P40", "P100", "T4", "V100",
	"MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI325X", "MI350X", "MI355X",
	"RTX-2000-ADA", "RTX-3070", "RTX-3080", "RTX-3080-TI", "RTX-3090", "RTX-3090-TI", "RTX-4000-ADA", "RTX-4070-TI", "RTX-4080",
	"RTX-4080-SUPER", "RTX-4090", "RTX-5000-ADA", "RTX-5070", "RTX-5070-TI", "RTX-5080", "RTX-5090", "RTX-6000-ADA",
	"RTX-A2000", "RTX-A4000", "RTX-A4500", "RTX-A5000", "RTX-A5500", "RTX-A6000",
	"RTX-PRO-4000", "RTX-PRO-4500", "RTX-PRO-5000", "RTX-PRO-6000",
}

// Mistaken are the known models that a name was probably meant to be, the nearest first. It
// is empty for a known model, for a name of the same form, as a new generation has it, and
// for a name that is like no other: whether there is such a GPU, only a backend can say.
func Mistaken(name string) []string {
	model := Parse(name).Model
	if name == Any || len(model) > longest || slices.ContainsFunc(known, func(k string) bool { return k == model || form(k) == form(model) }) {
		return nil
	}
	most := max(1, len(model)/4)
	var near []string
	for d := 0; d <= most && near == nil; d++ {
		for _, k := range known {
			if distance(alike.Replace(model), alike.Replace(k)) == d && len(near) < 3 {
				near = append(near, k)
			}
		}
	}
	return near
}

// longest is more than any name of a GPU has.
const longest = 64

// alike are letters that are taken for digits.
var alike = strings.NewReplacer("O", "0", "I", "1", "-", "")

// form is a name with one letter for all letters and one digit for all digits.
func form(model string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '0'
		case r >= 'A' && r <= 'Z':
			return 'A'
		}
		return r
	}, model)
}

// distance counts insertions, deletions and changes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
