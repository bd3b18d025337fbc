package value

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func dateWriter(kind, unit string) elements {
	return func(out, b []byte) []byte {
		switch v := signed(b); {
		case v == math.MinInt64:
			return append(out, `"NaT"`...)
		case kind == "timedelta64":
			return fmt.Appendf(out, `"%d %s"`, v, unit)
		default:
			return fmt.Appendf(out, `"%s"`, dateText(v, unit))
		}
	}
}

// dateText is a datetime64 as NumPy writes it.
func dateText(v int64, unit string) string {
	switch unit {
	case "Y":
		return year(1970 + v)
	case "M":
		y, m := divmod(v, 12)
		return fmt.Sprintf("%s-%02d", year(1970+y), m+1)
	case "W", "D":
		return day(v, unit == "W")
	}
	fraction := ""
	if digits := map[string]int{"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}[unit]; digits > 0 {
		var rest int64
		v, rest = divmod(v, pow10(digits))
		fraction = fmt.Sprintf(".%0*d", digits, rest)
	}
	each := map[string]int64{"h": 3600, "m": 60}[unit]
	days, seconds := divmod(v, 86400/max(each, 1))
	seconds *= max(each, 1)
	text := fmt.Sprintf("%sT%02d", day(days, false), seconds/3600)
	if unit == "h" {
		return text
	}
	text += fmt.Sprintf(":%02d", seconds/60%60)
	if unit == "m" {
		return text
	}
	return text + fmt.Sprintf(":%02d", seconds%60) + fraction
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// divmod rounds down, as Python does.
func divmod(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

func year(y int64) string {
	if y < 0 {
		return fmt.Sprintf("-%04d", -y)
	}
	return fmt.Sprintf("%04d", y)
}

// day is a day since 1970 (or a week) in the calendar of today, carried on without
// end: eras of 400 years that begin in March.
func day(days int64, weeks bool) string {
	const perEra = 146097
	era, d := divmod(days, perEra)
	if weeks {
		// Seven times as much may be more than an int64 holds.
		era, d = era*7, d*7
		more, rest := divmod(d, perEra)
		era, d = era+more, rest
	}
	more, d := divmod(d+719468, perEra)
	era += more
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	month := (5*d + 2) / 153
	dom := d - (153*month+2)/5 + 1
	if month > 9 {
		return fmt.Sprintf("%s-%02d-%02d", year(era*400+y+1), month-9, dom)
	}
	return fmt.Sprintf("%s-%02d-%02d", year(era*400+y), month+3, dom)
}

// appendFloat writes a float as Python does, or what stands for it.
func appendFloat(out []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(out, quote(NaN)...)
	case math.IsInf(v, 1):
		return append(out, quote(Infinity)...)
	case math.IsInf(v, -1):
		return append(out, quote(MinusInfinity)...)
	}
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e16) {
		form = 'e'
	}
	at := len(out)
	out = strconv.AppendFloat(out, v, form, -1, bits)
	if !bytes.ContainsAny(out[at:], ".e") {
		out = append(out, ".0"...)
	}
	return out
}

func complexText(re, im float64, bits int) string {
	imaginary := strconv.FormatFloat(im, 'g', -1, bits)
	if !strings.ContainsAny(imaginary[:1], "+-") {
		imaginary = "+" + imaginary
	}
	return strings.NewReplacer("NaN", "nan", "Inf", "inf").Replace(strings.TrimPrefix(strconv.FormatFloat(re, 'g', -1, bits), "+") + imaginary + "j")
}

// shorten cuts a text that goes into a message.
func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
