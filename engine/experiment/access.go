package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// ServiceLimits bound what a service keeps. Zero values mean the default, which
// docs/protocol.md names.
type ServiceLimits struct {
	Keep       time.Duration // answers that nobody has fetched
	KeepCalls  int           // calls that are remembered
	KeepSize   float64       // of answers, GiB
	HandleKeep time.Duration // since the last use of a handle
	Handles    int           //
	HandleSize float64       // GiB
	Queue      int           // calls that wait
}

// Access limits what the agent may do with a service. Zero values are no limit.
type Access struct {
	Functions []string
	Calls     int
	Rate      string                    // as [ParseRate] reads it
	Expires   time.Duration             // after the start of the agent
	Spend     float64                   // USD
	Arguments map[string]map[string]any // function → parameter → schema
}

// Rate is so many in so long.
type Rate struct {
	Calls int
	Per   time.Duration
}

const ratePattern = `^([0-9]{1,9})/([0-9]{1,6})?(s|min|h|d)$`

var rateText = lazyregexp.New(ratePattern)

// ParseRate reads a rate: 60/min, 5/s, 100/12h.
func ParseRate(text string) (Rate, error) {
	m := rateText().FindStringSubmatch(text)
	if m == nil {
		return Rate{}, fmt.Errorf("%s is not a rate", quote(text))
	}
	calls, _ := strconv.Atoi(m[1]) // digits, and few of them
	count := 1
	if m[2] != "" {
		count, _ = strconv.Atoi(m[2])
	}
	if calls == 0 || count == 0 {
		return Rate{}, fmt.Errorf("%s allows nothing", quote(text))
	}
	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return Rate{Calls: calls, Per: time.Duration(count) * units[m[3]]}, nil
}

func limitFields() []Field {
	return []Field{
		{Key: "keep", Kind: KindDuration, Note: "`10m`", Example: "1h", Doc: "How long Seer keeps an answer that nobody has fetched."},
		{Key: "keep_calls", Kind: KindInt, Note: "100000", Min: 1, Max: maxCount, Doc: "Number of calls that the service remembers."},
		{Key: "keep_size", Kind: KindSize, Note: "`1GB`", Max: maxSize, Example: "8GB", Doc: "Total size of the answers that Seer keeps, in GiB."},
		{Key: "handle_keep", Kind: KindDuration, Note: "`15m`", Example: "2h", Doc: "How long a value stays in the sandbox after its last use."},
		{Key: "handles", Kind: KindInt, Note: "1000", Min: 1, Max: maxCount, Doc: "Number of values that may stay in the sandbox. Beyond it, Seer frees the least recently used one."},
		{Key: "handle_size", Kind: KindSize, Note: "a quarter of the memory", Max: maxSize, Example: "4GB", Doc: "Memory that these values may take together, in GiB. A view counts with its whole base array."},
		{Key: "queue", Kind: KindInt, Note: "10000", Min: 1, Max: maxCount, Doc: "Number of calls that may wait. A further call fails with `busy`."},
	}
}

func accessFields() []Field {
	return []Field{
		{Key: "functions", Kind: KindStrings, Example: "[next_words]", Doc: "The only functions that may be called; empty for all."},
		{Key: "calls", Kind: KindInt, Note: "any number", Min: 1, Max: maxCount, Doc: "Maximum number of calls that the agent may make."},
		{Key: "rate", Kind: KindString, Pattern: ratePattern, Note: "any", Example: "60/min", Doc: "How many calls in how long: a number, `/`, and `s`, `min`, `h` or `d`, or several as in `100/12h`."},
		{Key: "expires", Kind: KindDuration, Note: "with the sandbox", Example: "2h", Doc: "How long the agent may call."},
		{Key: "spend", Kind: KindNumber, Note: "no limit", Max: maxMoney, Example: "1.50", Doc: "The most that the calls' running time may cost, in USD, at the price of the machine."},
		{Key: "arguments", Kind: KindFrees, Example: "{generate: {max_tokens: {maximum: 512}}}",
			Doc: "Bounds of arguments: function, parameter, JSON Schema with `type`, `enum`, `const`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `minLength`, `maxLength`, `pattern`, `minItems`, `maxItems`, `items`."},
	}
}

// maxCount is more than anybody means.
const maxCount = 1_000_000_000

// schemaWords are what a token's limits understand.
var schemaWords = []string{"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"minLength", "maxLength", "pattern", "minItems", "maxItems", "items"}

// access checks what the table cannot say.
func (v *validator) access(at string, in *Access) {
	if in == nil {
		return
	}
	if in.Rate != "" {
		if _, err := ParseRate(in.Rate); err != nil {
			v.fail(at+".rate", err.Error(), "write it as 60/min, 5/s or 100/12h")
		}
	}
	for _, fn := range slices.Sorted(maps.Keys(in.Arguments)) {
		here := join(at+".arguments", fn)
		if len(in.Functions) > 0 && !slices.Contains(in.Functions, fn) {
			v.fail(here, quote(fn)+" is not one of the functions that may be called", "add it to functions, or remove its bounds")
		}
		for _, param := range slices.Sorted(maps.Keys(in.Arguments[fn])) {
			v.bounds(join(here, param), in.Arguments[fn][param])
		}
	}
}

// bounds checks the words of a schema; their values the sandbox checks.
func (v *validator) bounds(at string, schema any) {
	words, ok := schema.(map[string]any)
	if !ok {
		v.fail(at, "expected a mapping", "write it as {maximum: 512}")
		return
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(schemaWords, word) {
			v.fail(join(at, word), quote(word)+" cannot bound an argument", "known here: "+strings.Join(schemaWords, ", "))
			continue
		}
		if word == "items" {
			v.bounds(join(at, word), words[word])
		}
	}
}
