package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

func (c *checker) scalar(path string, sc scalar, f Field) any {
	switch f.Kind {
	case KindInt:
		return c.integer(path, sc, f)
	case KindNumber:
		return c.number(path, sc, f)
	case KindSize:
		return c.size(path, sc, f)
	case KindShare:
		return c.share(path, sc)
	case KindBool:
		if b, ok := native(sc).(bool); ok {
			return b
		}
	case KindDuration:
		d, problem := parseDuration(sc)
		if problem == "" {
			return d
		}
		c.fail(path, problem, "write seconds, or 90m, 2h, 1d")
		return nil
	default:
		text := c.asString(path, sc)
		if text != nil && f.Enum != nil && !slices.Contains(f.Enum, text.(string)) {
			c.fail(path, fmt.Sprintf("%s is not known", quote(sc.Text)), "use "+alternatives(f))
			return nil
		}
		return text
	}
	c.wrong(path, sc, wanted(f))
	return nil
}

func (c *checker) integer(path string, sc scalar, f Field) any {
	n, ok := native(sc).(int)
	switch {
	case !ok:
		c.wrong(path, sc, "an integer")
		return nil
	case (f.Min != 0 || f.Max != 0) && (n < f.Min || n > f.Max):
		c.fail(path, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("use %d to %d", f.Min, f.Max))
		return nil
	}
	return n
}

// number is above zero.
func (c *checker) number(path string, sc scalar, f Field) any {
	n, ok := numberOf(sc)
	if !ok {
		c.wrong(path, sc, wanted(f))
		return nil
	}
	return c.inRange(path, sc, n, f)
}

func (c *checker) inRange(path string, sc scalar, n float64, f Field) any {
	switch {
	case n <= 0:
		c.fail(path, quote(sc.Text)+" is not above zero", "give a value above zero, or remove the key")
		return nil
	case n > float64(f.Max):
		c.fail(path, quote(sc.Text)+" is out of range", fmt.Sprintf("use at most %d", f.Max))
		return nil
	}
	return n
}

func numberOf(sc scalar) (float64, bool) {
	switch n := native(sc).(type) {
	case int:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// size reads a number of GiB, or a number with a unit. GB and GiB are the same, as
// they are to those who rent machines.
func (c *checker) size(path string, sc scalar, f Field) any {
	n, ok := numberOf(sc)
	if sc.Tag == "!!str" {
		n, ok = sizeOf(sc.Text)
	}
	if !ok {
		c.fail(path, "expected a size, got "+describe(sc), "write GiB, or 512MB, 16GB, 1TB")
		return nil
	}
	return c.inRange(path, sc, n, f)
}

const maxParts = 64

// share reads how much of a GPU a sandbox gets, and returns it as text.
func (c *checker) share(path string, sc scalar) any {
	if _, ok := shareOf(sc.Text); !ok {
		c.fail(path, "expected a share, got "+describe(sc), fmt.Sprintf("write a number of sandboxes, 2 to %d, or an amount of memory with its unit, such as 20GB", maxParts))
		return nil
	}
	return sc.Text
}

func shareOf(text string) (sdk.GPUShare, bool) {
	if parts, err := strconv.Atoi(text); err == nil {
		return sdk.GPUShare{Parts: parts}, parts >= 2 && parts <= maxParts
	}
	gb, ok := sizeOf(text)
	return sdk.GPUShare{GB: gb}, ok && gb > 0 && gb <= maxSize
}

func sizeOf(text string) (float64, bool) {
	m := sizeText().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	switch m[2] {
	case "M":
		n /= 1 << 10
	case "T":
		n *= 1 << 10
	}
	return n, err == nil
}

const sizePattern = `^([0-9]+(?:\.[0-9]+)?) ?([MGT])i?B$`

var sizeText = lazyregexp.New(sizePattern)

// asString is v as a string, or nil after an error. Numbers are refused rather
// than turned into text: YAML would make 3.10 into 3.1.
func (c *checker) asString(path string, v any) any {
	sc, ok := v.(scalar)
	switch {
	case !ok || sc.null():
		c.wrong(path, v, "a string")
	case sc.Tag != "!!str":
		c.fail(path, "expected a string, got "+describe(sc), fmt.Sprintf("put it into quotes: %q", sc.Text))
	case strings.ContainsRune(sc.Text, 0):
		c.fail(path, "the text holds a NUL character", "remove it")
	case strings.TrimSpace(sc.Text) == "":
		c.fail(path, "the text is empty", "give a value or remove the key")
	default:
		return sc.Text
	}
	return nil
}

// native is a scalar as the Go value that YAML means by it.
func native(sc scalar) any {
	var v any
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: sc.Tag, Value: sc.Text}
	if sc.Tag == "!!str" || n.Decode(&v) != nil {
		return sc.Text
	}
	return v
}

// plain turns a tree into Go values, for what is passed on as it is.
func plain(v any) any {
	return mapLeaves(v, func(v any) any {
		sc, ok := v.(scalar)
		switch {
		case !ok:
			return v
		case sc.Tag == "!!timestamp":
			return sc.Text
		}
		return native(sc)
	})
}

// mapLeaves is a copy of a tree of mappings and lists with f of everything else in it.
func mapLeaves(v any, f func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = mapLeaves(inner, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = mapLeaves(inner, f)
		}
		return out
	}
	return f(v)
}
