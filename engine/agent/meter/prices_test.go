package meter_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/internal/testkit"
)

func file(t *testing.T, text string) string {
	t.Helper()
	return testkit.WriteFile(t, filepath.Join(t.TempDir(), "prices.yaml"), text)
}

// TestOwnPrices finds models as agents, clouds and gateways name them.
func TestOwnPrices(t *testing.T) {
	p, err := meter.ReadPrices()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Date()) != len("2026-01-01") {
		t.Errorf("date %q", p.Date())
	}
	for name, want := range map[string]float64{
		"claude-opus-4-5-20251101": 5, "us.anthropic.claude-opus-4-5-20251101-v1:0": 5, "anthropic/claude-opus-4.5": 5, "claude-opus-4-5@20251101": 5,
		"claude-opus-4-20250514": 15, "claude-sonnet-4-5": 3, "claude-sonnet-4@20250514": 3, "Claude-Haiku-4-5": 1,
		"gpt-5": 1.25, "gpt-5-2025-08-07": 1.25, "gpt-5.1-codex-mini": 0.25, "openai/gpt-5-mini-2025-08-07": 0.25, "gpt-4.1": 2, "o3": 2,
		"models/gemini-2.5-flash-lite": 0.1, "gemini-2.5-flash": 0.3, "gemini-3-pro-preview": 2,
	} {
		if got, ok := p.Find(name); !ok || got.Input != want {
			t.Errorf("%s: %+v, %v; want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "gpt-5.9", "gpt-50", "claude", "my-model", "gemini-2.5-flash-image"} {
		if got, ok := p.Find(name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, _ := p.Find("claude-sonnet-4-5"); got.CacheWriteHour != 6 || got.Long == nil || got.LongAbove != 200_000 || got.Long.Output != 22.5 {
		t.Errorf("%+v", got)
	}
}

func TestFilesOverride(t *testing.T) {
	one := file(t, "prices:\n  \"*\": {input: 7, output: 8}\n  gpt-5: {input: 9, output: 9, cache_read: 1}\n")
	two := file(t, "date: 2026-01-31\nprices:\n  claude-*: {input: 0, output: 0}\n  claude-opus-*: {input: 1, output: 2, cache_write: 3}\n")
	p, err := meter.ReadPrices(one, two)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]meter.Price{
		"claude-opus-4-5": {Input: 1, Output: 2, CacheRead: 1, CacheWrite: 3, CacheWriteHour: 3},
		"claude-haiku-9":  {},
		"gpt-5":           {Input: 9, Output: 9, CacheRead: 1, CacheWrite: 9, CacheWriteHour: 9},
		"gpt-4.1":         {Input: 7, Output: 8, CacheRead: 7, CacheWrite: 7, CacheWriteHour: 7}, // a later file counts before an earlier one
		"org/anything":    {Input: 7, Output: 8, CacheRead: 7, CacheWrite: 7, CacheWriteHour: 7},
	} {
		if got, ok := p.Find(name); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestMistakesOfPrices(t *testing.T) {
	for text, want := range map[string][]string{
		"": {":1: empty"}, "[]": {":1: not a mapping"}, "a: b: c": {":1: not valid YAML"}, "date: 2026-01-01": {":1: prices: missing"},
		"prices: 5": {":1: prices: not a mapping"},
		"date: soon\nprice: {}\nprices:\n  \"a[\": {input: 1, output: 1}\n  b: {inputs: 1, output: -1}\n  c: {input: .nan, output: 1e12, cache_read: free}\n  d: cheap\n  e: {input: 1, output: 1, long: {above: 0, input: 1}}\n  e: {input: 1, output: 1}": {
			`:1: date: "soon" is not a day`, `:2: the file: unknown key "price"; did you mean "prices"?`, `:4: prices: "a[" is not a pattern`,
			`:5: prices.b: unknown key "inputs"; did you mean "input"?`, `:5: prices.b.output: "-1" is not an amount`, ":5: prices.b.input: missing",
			`:6: prices.c.input: ".nan" is not an amount`, `:6: prices.c.output: "1e12"`, `:6: prices.c.cache_read: "free"`,
			":7: prices.d: not a mapping", `:8: prices.e.long.above: "0" is not a number of tokens`, ":8: prices.e.long.output: missing", `:9: prices: the key "e" is here twice`,
		},
	} {
		path := file(t, text)
		_, err := meter.ReadPrices(path)
		if err == nil {
			t.Errorf("%q: no mistake", text)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), path+w) {
				t.Errorf("%q is not in:\n%v", w, err)
			}
		}
	}
	if _, err := meter.ReadPrices("/nowhere/prices.yaml"); err != nil {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := meter.ReadPrices(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a folder: %v", err)
	}
}

// TestCostOfLongRequestsAndCaches follows the finer parts of prices.
func TestCostOfLongRequestsAndCaches(t *testing.T) {
	own := file(t, "prices:\n  claude-test: {input: 1, output: 2, cache_read: 0.5, cache_write: 4, cache_write_1h: 8, long: {above: 1000, input: 100, output: 200}}\n")
	for answer, want := range map[string]float64{
		`{"usage":{"input_tokens":500,"output_tokens":10,"cache_read_input_tokens":300,"cache_creation_input_tokens":200,"cache_creation":{"ephemeral_1h_input_tokens":50}}}`: (500 + 20 + 150 + 150*4 + 50*8) / 1e6,
		`{"usage":{"input_tokens":500,"output_tokens":10,"cache_read_input_tokens":501}}`:                                                                                     (500*100 + 2000 + 501*100) / 1e6,
	} {
		b := with(t, &recorded{answer: answer}, func(c *meter.Config) { c.Prices = prices(t, own) })
		b.post("/v1/messages", `{"model":"claude-test"}`)
		if r := <-b.arrived; r.Cost < want*0.999999 || r.Cost > want*1.000001 {
			t.Errorf("%s costs %v, not %v", answer, r.Cost, want)
		}
	}
}
