package plugintest

import (
	"encoding/json"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

func TestFits(t *testing.T) {
	t.Parallel()
	for form, texts := range map[string]map[string]bool{
		"":      {"": true, "a": false},
		"*":     {"": true, "a\nb": true},
		"a*":    {"a": true, "ab": true, "ba": false},
		"*a":    {"a": true, "ba": true, "ab": false},
		"a*b*c": {"abc": true, "a1b2c": true, "acb": false, "ab": false},
		"ab*ba": {"aba": false, "abba": true},
		"a?[":   {"a?[": true, "ab[": false},
	} {
		for text, want := range texts {
			if fits(form, text) != want {
				t.Errorf("%q and %q: %v", form, text, !want)
			}
		}
	}
	for _, tc := range []struct {
		forms, words []string
		want         bool
	}{
		{[]string{"a", "**"}, []string{"a"}, true}, {[]string{"a", "**"}, []string{"a", "b", "c"}, true}, {[]string{"a", "**"}, []string{"b"}, false},
		{[]string{"a", "*"}, []string{"a"}, false}, {[]string{"a"}, []string{"a", "b"}, false}, {[]string{"**"}, nil, true}, {nil, nil, true},
	} {
		if fitAll(tc.forms, tc.words) != tc.want {
			t.Errorf("%q and %q: %v", tc.forms, tc.words, !tc.want)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	value := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	got := value(`{"a": [{"b": "text", "c": 1}], "d": null, "e": true}`)
	for want, differ := range map[string]string{
		`{}`: "", `{"a": [{"b": "t*t"}]}`: "", `{"d": null}`: "", `{"missing": null}`: "", `{"a": [{"c": 1}], "e": true}`: "",
		`{"a": []}`:             `x.a is [{"b":"text","c":1}], and no list of 0`,
		`{"a": [{"c": 2}]}`:     "x.a.0.c is 1, and should be 2",
		`{"a": {"b": 1}}`:       `x.a is [{"b":"text","c":1}], and no mapping`,
		`{"e": "true"}`:         `x.e is true, and should be "true"`,
		`{"missing": "*"}`:      `x.missing is null, and should be "*"`,
		`{"a": [{"b": "tex"}]}`: `x.a.0.b is "text", and should be "tex"`,
	} {
		if d := differs(value(want), got, "x"); d != differ {
			t.Errorf("%s: %q, want %q", want, d, differ)
		}
	}
}

func TestScenarioMistakes(t *testing.T) {
	t.Parallel()
	testkit.WantErrors(t, func(text string) error {
		_, err := ParseConfig("c", []byte("models: []\nscenarios:\n  - "+text+"\n"))
		return err
	}, map[string]string{
		"{steps: [{call: list}]}":                                                "c:2: scenarios: needs a name",
		"{name: a}":                                                              "a has no steps",
		"{name: a, steps: [{call: lits}]}":                                       `steps.0 calls "lits", which is none of describe`,
		"{name: a, steps: [{call: list, times: 1000}]}":                          "the limit is 100",
		"{name: a, step: []}":                                                    "field step is not a key of conformance.yaml",
		"{name: a, steps: [{call: list, wants: 1}]}":                             "field wants is not a key",
		"{name: a, steps: [{call: list, input: {a: .nan}}]}":                     "cannot be JSON",
		"{name: a, steps: [{call: list, want: [], error: {code: invalid}}]}":     "a result and an error",
		"{name: a, ssh: [{host: b, answers: [{}]}], steps: [{call: list}]}":      "a: ssh.0 needs host and argv",
		"{name: a, ssh: [{host: b, argv: [c]}], steps: [{call: list}]}":          "a: ssh.0 has no answers",
		"{name: a, kube: [{method: GET, answers: [{}]}], steps: [{call: list}]}": "a: kube.0 needs method and path, or exec",
		"{name: a, kube: [{method: GET, path: /a, exec: {argv: [a]}, answers: [{}]}], steps: [{call: list}]}": "a: kube.0 needs method and path, or exec",
		"{name: a, kube: [{method: GET, path: /a, answers: [{status: 99}]}], steps: [{call: list}]}":          "no status of HTTP",
		"{name: a, steps: [{call: list}]}\n  - {name: a, steps: [{call: list}]}":                              `two have the name "a"`,
	})
}
