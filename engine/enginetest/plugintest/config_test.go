package plugintest

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("conformance.yaml", []byte(`# comment
simulator: {command: [node, simulator/main.mjs]}
settings: {url: "{url}"}
options: {heading: Functions, depth: 2}
models: [tiny]
live: {max_cost: 0.10, offer: small}
skip: {expose/slow: has nothing slow}
`))
	if err != nil || c.Simulator.Command[1] != "simulator/main.mjs" || c.Settings["url"] != "{url}" || string(c.options()) != `{"depth":2,"heading":"Functions"}` ||
		c.Models[0] != "tiny" || c.Live.MaxCost != 0.1 || c.Live.Offer != "small" {
		t.Errorf("%+v, %v", c, err)
	}
	if why, ok := c.skipped("expose/slow"); !ok || why != "has nothing slow" {
		t.Error("skip of a check")
	}
	if _, ok := c.skipped("expose/slowly"); ok {
		t.Error("skip of another check")
	}
	for _, empty := range []string{"", "# nothing\n", "\n"} {
		if _, err := ParseConfig("c", []byte(empty)); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// Each mistake has a place and a text.
func TestParseConfigMistakes(t *testing.T) {
	testkit.WantErrors(t, func(text string) error {
		_, err := ParseConfig("c", []byte(text))
		return err
	}, map[string]string{
		"simulator: {comand: [x]}\n": "c:1: field comand is not a key of conformance.yaml",
		"models: tiny\n":             "c:1: cannot unmarshal",
		"models: [a]\nmodel: b\n":    "c:2: field model is not a key",
		"models: [a]\nsimulator:\n  command: [x]\n  url: http://x\n": "c:2: simulator: has a command and a url",
		"simulator:\n  url: 127.0.0.1:80\n":                          "c:2: url: \"127.0.0.1:80\" is not a URL",
		"live:\n  max_cost: -1\n":                                    "c:2: max_cost: is a number of dollars",
		"live:\n  max_cost: .nan\n":                                  "c:2: max_cost",
		"options: {x: .inf}\n":                                       "c:1: options: cannot be JSON",
		"skip:\n  create/arrives: ''\n":                              "c:1: skip: create/arrives needs a reason",
		"simulator:\n  command: [\"\"]\n":                            "c:2: command: its first word",
		"a: &a [*a]\n":                                               "c:",
		"---\nmodels: [a]\n---\nmodels: [b]\n":                       "more than one YAML document",
		strings.Repeat("#", 300<<10):                                 "c:1: longer than 256 KiB",
		"\t":                                                         "c:1: ",
	})
}

// Whatever is read, an error has a place, and what is accepted is sound.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "simulator: {command: [a, b]}\nsettings: {url: \"{url}\"}\n", "options: {a: [1, {b: c}]}\n", "skip: {a: b}\nlive: {max_cost: 1}\n",
		"a: &a {b: *a}\n", "options: {1: 2, true: x}\n", "options: {a: 2001-01-01}\n", "live: {max_cost: 1e309}\n", "? [a]\n: b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseConfig("c", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "c:") {
				t.Errorf("no place: %v", err)
			}
			return
		}
		if raw := c.options(); len(c.Options) > 0 && len(raw) == 0 {
			t.Errorf("options are lost: %v", c.Options)
		}
		if !(c.Live.MaxCost >= 0 && c.Live.MaxCost <= 1000) {
			t.Errorf("max_cost %v", c.Live.MaxCost)
		}
	})
}
