package runs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	experiment, prompt           document
	models, code, numbers, calls facts
}

func gather(r *Run) (g gathered, err error) {
	var errs [4]error
	g.experiment, errs[0] = r.experimentOf()
	g.prompt, errs[1] = r.readDocument(PartPrompt, PromptName)
	var calls []record.Entry
	calls, errs[2] = r.Calls()
	g.models, g.code, errs[3] = r.provenance(calls)
	g.numbers = r.numbers(calls)
	for _, f := range ByFunction(calls) {
		g.calls = append(g.calls, fact{f.Name, strconv.Itoa(f.Calls)})
	}
	return g, errors.Join(errs[:]...)
}

// Provenance is what run.json says of the models and the code of a run.
type Provenance struct {
	Models   []ModelUsed   `json:"models"` // and datasets
	Services []ServiceUsed `json:"services"`
}

// ModelUsed is a model or dataset of the sandbox of a run.
type ModelUsed struct {
	Name     string `json:"name,omitempty"` // empty = hidden
	Dataset  bool   `json:"dataset,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
	Source   string `json:"source"`
	Revision string `json:"revision"`
	Manifest string `json:"manifest,omitempty"` // key of the list of its files in run.models.json
}

// ServiceUsed is an interface that the agent could call.
type ServiceUsed struct {
	Name     string `json:"name"`
	CodeHash string `json:"code_hash"`
}

// Provenance reads run.json. A run that was killed has none: [fs.ErrNotExist].
func (r *Run) Provenance() (p Provenance, err error) {
	text, err := r.ReadFile(RunName, mostDocument)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read %s of the run %s: %w", RunName, r.ID, err)
	}
	if p.Models == nil {
		p.Models = []ModelUsed{}
	}
	if p.Services == nil {
		p.Services = []ServiceUsed{}
	}
	return p, nil
}

// provenance is what run.json says of models and code, and without that file what calls say.
func (r *Run) provenance(calls []record.Entry) (models, code facts, err error) {
	p, err := r.Provenance()
	if errors.Is(err, fs.ErrNotExist) {
		models, code = provenanceOfCalls(calls)
		return models, code, nil
	}
	for _, s := range p.Services {
		code = append(code, fact{s.Name, s.CodeHash})
	}
	for i, m := range p.Models {
		name := cmp.Or(m.Name, fmt.Sprintf("hidden model %d", i+1))
		models = append(models, fact{name, strings.TrimSpace(m.Source + " " + m.Revision)})
	}
	return unique(models), unique(code), err
}

func provenanceOfCalls(calls []record.Entry) (models, code facts) {
	for _, c := range calls {
		if c.CodeHash != "" {
			code = append(code, fact{c.Service, c.CodeHash})
		}
		for _, m := range slices.Concat(c.Models, c.Datasets) {
			models = append(models, fact{m.Name, m.Revision})
		}
	}
	return unique(models), unique(code)
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
