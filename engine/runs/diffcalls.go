package runs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/record"
)

const (
	mostResult  = 64 << 10 // bytes of a result in which numbers are looked for
	mostNumbers = 100_000  // of a run
	mostShown   = 60       // characters of arguments in a name
)

// gathered is what is compared of a run, beside its summary.
type gathered struct {
	experiment, prompt              document
	plugins, models, code, packages facts
	numbers, calls                  facts
}

func gather(r *Run) (g gathered, err error) {
	var errs [3]error
	g.experiment, errs[0] = r.experimentOf()
	g.prompt, errs[1] = r.readDocument(PartPrompt, PromptName)
	var calls []record.Entry
	calls, errs[2] = r.Calls()
	p := r.provenance
	g.plugins, g.models, g.code, g.packages = p.plugins(), p.models(), p.code(), p.packages()
	g.numbers = r.numbers(calls)
	for _, f := range ByFunction(calls) {
		g.calls = append(g.calls, fact{f.Name, strconv.Itoa(f.Calls)})
	}
	return g, errors.Join(errs[:]...)
}

// unique gives names that come again a number, and leaves out what is there already.
func unique(all facts) facts {
	values := map[string][]string{}
	out := facts{}
	for _, f := range all {
		if slices.Contains(values[f.name], f.value) {
			continue
		}
		values[f.name] = append(values[f.name], f.value)
		if n := len(values[f.name]); n > 1 {
			f.name = fmt.Sprintf("%s #%d", f.name, n)
		}
		out = append(out, f)
	}
	return out
}

// Function is what the calls of one function were.
type Function struct {
	Name    string         `json:"name"` // service.function
	Calls   int            `json:"calls"`
	Seconds float64        `json:"seconds"` // that they ran, together
	Longest float64        `json:"longest_seconds"`
	States  map[string]int `json:"states"` // how many calls ended in each state
}

// ByFunction counts calls by function, the names in their order.
func ByFunction(calls []record.Entry) []Function {
	at := map[string]int{}
	all := []Function{}
	for _, c := range calls {
		name := c.Service + "." + c.Function
		i, ok := at[name]
		if !ok {
			i = len(all)
			at[name] = i
			all = append(all, Function{Name: name, States: map[string]int{}})
		}
		f := &all[i]
		f.Calls++
		f.Seconds += c.Seconds
		f.Longest = max(f.Longest, c.Seconds)
		f.States[string(c.State)]++
	}
	slices.SortFunc(all, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// numbers are the numbers in the results of calls, named by the function, its arguments, which of
// these calls it is, and the place in the result.
func (r *Run) numbers(calls []record.Entry) (all facts) {
	times := map[string]int{}
	for _, c := range calls {
		v, ok := r.body(c.Result)
		if !ok || len(all) >= mostNumbers {
			continue
		}
		call := c.Service + "." + c.Function + r.arguments(c.Arguments)
		times[call+c.Arguments]++
		if n := times[call+c.Arguments]; n > 1 {
			call += fmt.Sprintf(" #%d", n)
		}
		for _, f := range flattened(v) {
			if _, err := strconv.ParseFloat(f.value, 64); err == nil {
				all = append(all, fact{strings.TrimSpace(call + " " + f.name), f.value})
			}
		}
	}
	return unique(all)
}

// body is a small value of the record, as plain JSON; ok = it can be read and is what its name says.
func (r *Run) body(hash string) (v any, ok bool) {
	if len(hash) != 64 {
		return nil, false
	}
	text, err := r.ReadFile(path.Join(RecordName, "bodies", hash[:2], hash), mostResult)
	if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != hash {
		return nil, false
	}
	parsed, err := value.Parse(text, true, value.Limits{})
	if err != nil {
		return nil, false
	}
	plain, err := parsed.Plain(value.PlainOptions{})
	if err != nil {
		return nil, false
	}
	v, err = decode(plain)
	return v, err == nil
}

// arguments are those of a call as Python writes a call, roughly.
func (r *Run) arguments(hash string) string {
	v, ok := r.body(hash)
	in, _ := v.(map[string]any)
	if !ok || in == nil {
		return "(" + hash[:min(len(hash), 8)] + "…)"
	}
	var texts []string
	args, _ := in["args"].([]any)
	for _, a := range args {
		texts = append(texts, asText(a).(string))
	}
	kwargs, _ := in["kwargs"].(map[string]any)
	names := make([]string, 0, len(kwargs))
	for name := range kwargs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		texts = append(texts, name+"="+asText(kwargs[name]).(string))
	}
	text := []rune(strings.Join(texts, ", "))
	if len(text) > mostShown {
		text = append(text[:mostShown], []rune("… "+hash[:8])...)
	}
	return "(" + string(text) + ")"
}

// natural orders paths: numbers by their value, and before names.
func natural(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		n, errN := strconv.Atoi(as[i])
		m, errM := strconv.Atoi(bs[i])
		c := strings.Compare(as[i], bs[i])
		switch {
		case errN == nil && errM == nil && n != m:
			c = cmp.Compare(n, m)
		case errN == nil && errM != nil:
			c = -1
		case errN != nil && errM == nil:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}
