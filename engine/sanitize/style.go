package sanitize

import (
	"fmt"
	"strconv"
	"strings"
)

// style is how a terminal shows text. Only what leaves the text readable is in it: no
// concealed and no blinking text, and no background of the text's own colour.
type style struct {
	marks  uint8 // of markCodes
	fg, bg color
}

// color is one of a text. The zero value is the terminal's own.
type color struct {
	code    string // as in a control sequence, but for the background
	r, g, b int
}

// markCodes are those that a text can have, with the codes that take them away.
var markCodes = [...]struct{ on, off int }{{1, 22}, {2, 22}, {3, 23}, {4, 24}, {7, 27}, {9, 29}}

// append writes the control sequence that makes a terminal show text so, which has shown
// it as before.
func (s style) append(out []byte, before style) []byte {
	var codes []string
	if before != (style{}) || s == (style{}) {
		codes = append(codes, "0")
	}
	for i, m := range markCodes {
		if s.marks&(1<<i) != 0 {
			codes = append(codes, strconv.Itoa(m.on))
		}
	}
	if s.fg.code != "" {
		codes = append(codes, "3"+s.fg.code)
	}
	if s.bg.code != "" && !alike(s.fg, s.bg) {
		codes = append(codes, "4"+s.bg.code)
	}
	return fmt.Appendf(out, "\x1b[%sm", strings.Join(codes, ";"))
}

// alike reports whether nobody can read text of one color on the other.
func alike(a, b color) bool {
	abs := func(n int) int { return max(n, -n) }
	return a.code != "" && b.code != "" && abs(a.r-b.r)+abs(a.g-b.g)+abs(a.b-b.b) < 96
}

// with is the style after a sequence with these parameters. What it does not know, it
// passes over.
func (s style) with(parameters string) style {
	rest := strings.Split(parameters, ";")
	for len(rest) > 0 {
		parts := strings.Split(rest[0], ":")
		rest = rest[1:]
		code := number(parts[0])
		if code == 38 || code == 48 || code == 58 {
			var c color
			var ok bool
			if len(parts) > 1 {
				c, ok = colonColor(parts[1:])
			} else {
				c, rest, ok = listedColor(rest)
			}
			if ok {
				s = s.colored(code, c)
			}
			continue
		}
		if code == 4 && len(parts) > 1 && number(parts[1]) == 0 {
			code = 24
		}
		s = s.code(code)
	}
	return s
}

func (s style) code(code int) style {
	switch {
	case code == 0:
		return style{}
	case 30 <= code && code <= 37, 40 <= code && code <= 47:
		return s.colored(code/10*10+8, basic(code%10))
	case 90 <= code && code <= 97, 100 <= code && code <= 107:
		return s.colored((code/10-9)*10+38, basic(code%10+8))
	case code == 39 || code == 49:
		return s.colored(code-1, color{})
	}
	for i, m := range markCodes {
		switch code {
		case m.on:
			s.marks |= 1 << i
		case m.off:
			s.marks &^= 1 << i
		}
	}
	return s
}

// colored sets what the codes 38 and 48 set; the color of underlines is not kept.
func (s style) colored(code int, c color) style {
	switch code {
	case 38:
		s.fg = c
	case 48:
		s.bg = c
	}
	return s
}

// listedColor reads 5;N or 2;R;G;B.
func listedColor(rest []string) (color, []string, bool) {
	switch {
	case len(rest) >= 2 && number(rest[0]) == 5:
		return basic(number(rest[1])), rest[2:], true
	case len(rest) >= 4 && number(rest[0]) == 2:
		return direct(rest[1:4]), rest[4:], true
	}
	return color{}, nil, false // where it ends, nobody knows
}

// colonColor reads 5:N, 2:R:G:B, or with a color space 2:S:R:G:B.
func colonColor(parts []string) (color, bool) {
	switch {
	case len(parts) >= 2 && number(parts[0]) == 5:
		return basic(number(parts[1])), true
	case len(parts) >= 5 && number(parts[0]) == 2:
		return direct(parts[2:5]), true
	case len(parts) == 4 && number(parts[0]) == 2:
		return direct(parts[1:4]), true
	}
	return color{}, false
}

func direct(parts []string) color {
	r, g, b := number(parts[0]), number(parts[1]), number(parts[2])
	return color{"8;2;" + strconv.Itoa(r) + ";" + strconv.Itoa(g) + ";" + strconv.Itoa(b), r, g, b}
}

// basic is one of the 256 colors that terminals number, as xterm shows them.
func basic(n int) color {
	c := color{code: "8;5;" + strconv.Itoa(n)}
	switch {
	case n < 8:
		c.code = strconv.Itoa(n)
		level := func(bit int) int { return n >> bit & 1 * 205 }
		c.r, c.g, c.b = level(0), level(1), level(2)
	case n == 8:
		c.r, c.g, c.b = 127, 127, 127
	case n < 16:
		level := func(bit int) int { return n >> bit & 1 * 255 }
		c.r, c.g, c.b = level(0), level(1), level(2)
	case n < 232:
		level := func(n int) int {
			if n == 0 {
				return 0
			}
			return 55 + 40*n
		}
		c.r, c.g, c.b = level((n-16)/36), level((n-16)/6%6), level((n-16)%6)
	default:
		c.r = 8 + 10*(n-232)
		c.g, c.b = c.r, c.r
	}
	return c
}

// number is a parameter from 0 to 255; a missing one is 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && text != "" || n > 255 {
		return 255 // stands for nothing
	}
	return n
}
