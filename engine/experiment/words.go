package experiment

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/spelling"
)

// describe names the kind of a value in the words of a person.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case scalar:
		switch v.Tag {
		case "!!null":
			return "nothing"
		case "!!int", "!!float":
			return "the number " + quote(v.Text)
		case "!!bool":
			return quote(v.Text)
		case "!!timestamp":
			return "the date " + quote(v.Text)
		}
		return "the string " + quote(v.Text)
	}
	return "nothing"
}

// wanted says what a field takes.
func wanted(f Field) string {
	switch f.Kind {
	case KindString:
		return "a string"
	case KindInt:
		return "an integer"
	case KindNumber:
		return "a number"
	case KindSize:
		return "a size"
	case KindShare:
		return "a share"
	case KindBool:
		return "true or false"
	case KindDuration:
		return "a duration"
	case KindMap, KindEnv, KindFree, KindFrees:
		return "a mapping"
	case KindOneOrAll:
		return "a string or a list of strings"
	case KindPairs:
		return "a list of [local, remote] pairs"
	default:
		return "a list"
	}
}

func itemWanted(f Field) string {
	switch {
	case f.Kind == KindPairs:
		return "a pair [local, remote]"
	case f.Short != "":
		return "a string or a mapping with " + quote(f.Short)
	default:
		return "a mapping"
	}
}

func alternatives(f Field) string {
	words := f.Enum
	if f.Nullable {
		words = append(words[:len(words):len(words)], "null")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func keysOf(fields []Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return keys
}

// nearest is the known key that key was probably meant to be.
func nearest(key string, fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Key
	}
	return spelling.Nearest(key, names)
}

// elsewhere is where a key that is not known at path would be right.
func elsewhere(key, path string) string {
	home := ""
	walkFields(Fields(), "", func(at string, f Field) {
		parent := strings.TrimSuffix(strings.TrimSuffix(at, f.Key), ".")
		if f.Key == key && home == "" && parent != path && parent != "" && !strings.Contains(parent, "*") {
			home = parent
		}
	})
	return home
}

// MaxDuration is longer than any provider keeps a machine; what is above is
// more likely milliseconds than a wish.
const MaxDuration = 30 * 24 * time.Hour

// parseDuration reads seconds, or a number with a unit of s, m, h or d.
func parseDuration(sc scalar) (_ time.Duration, problem string) {
	d, err := durationOf(sc)
	switch {
	case err != nil:
		return 0, "expected a duration, got " + describe(sc)
	case d < time.Second:
		return 0, fmt.Sprintf("%s is shorter than a second", quote(sc.Text))
	case d > MaxDuration:
		return 0, fmt.Sprintf("%s is longer than 30 days", quote(sc.Text))
	}
	return d, ""
}

func durationOf(sc scalar) (time.Duration, error) {
	if n, ok := native(sc).(int); ok {
		if n > int(MaxDuration/time.Second) {
			return MaxDuration + 1, nil
		}
		return time.Duration(max(n, 0)) * time.Second, nil
	}
	if sc.Tag != "!!str" {
		return 0, strconv.ErrSyntax
	}
	text := strings.TrimSpace(sc.Text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// quote marks what the user wrote, on one line and not too long.
func quote(word string) string {
	word = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, word)
	if len([]rune(word)) > 60 {
		word = string([]rune(word)[:60]) + "…"
	}
	return "`" + word + "`"
}
