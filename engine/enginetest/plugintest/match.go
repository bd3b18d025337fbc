package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fits reports whether a text is of a form, in which * stands for any text.
func fits(form, text string) bool {
	parts := strings.Split(form, "*")
	if len(parts) == 1 {
		return form == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// anyRest as the last form of a list of words stands for any further ones.
const anyRest = "**"

// fitAll compares words with forms.
func fitAll(forms, words []string) bool {
	if n := len(forms) - 1; n >= 0 && forms[n] == anyRest && len(words) >= n {
		forms, words = forms[:n], words[:n]
	}
	return slices.EqualFunc(forms, words, fits)
}

// differs says where a JSON value does not have what is wanted; "" = it has all of it. Texts are
// forms, a mapping may have more keys than are wanted, and a list has as many values.
func differs(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, and no mapping", at, inWords(got))
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if d := differs(want[key], have[key], at+"."+key); d != "" {
				return d
			}
		}
		return ""
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s is %s, and no list of %d", at, inWords(got), len(want))
		}
		for i := range want {
			if d := differs(want[i], have[i], fmt.Sprintf("%s.%d", at, i)); d != "" {
				return d
			}
		}
		return ""
	case string:
		if have, ok := got.(string); ok && fits(want, have) {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s, and should be %s", at, inWords(got), inWords(want))
}

// inWords is a value for a report.
func inWords(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 300 {
		return string(text[:300]) + "…"
	}
	return string(text)
}

// plainJSON is a value, such as one of YAML, as JSON has it.
func plainJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(text, &out)
}

// fitsInput compares what was sent with what is wanted: a text is a form, and anything else the
// JSON that it must have. nil = anything was sent.
func fitsInput(want any, sent []byte) bool {
	if want == nil {
		return true
	}
	if form, ok := want.(string); ok {
		return fits(form, string(sent))
	}
	wanted, err := plainJSON(want)
	var got any
	if err != nil || json.Unmarshal(sent, &got) != nil {
		return false
	}
	return differs(wanted, got, "") == ""
}

// textOf is an answer as text: a text as it is, and anything else as JSON.
func textOf(v any) string {
	if text, ok := v.(string); ok || v == nil {
		return text
	}
	raw, _ := json.Marshal(v) // was checked
	return string(raw)
}
