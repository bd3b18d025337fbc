package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/diff"
)

// Parts that [Diff] compares.
const (
	PartSeer       = "seer"       // version and digest
	PartExperiment = "experiment" // as resolved, else as written
	PartPrompt     = "prompt"
	PartPlugins    = "plugins"
	PartModels     = "models"   // of the sandbox, and datasets
	PartCode       = "code"     // of the interfaces
	PartPackages   = "packages" // of the sandbox
	PartAgent      = "agent"
	PartResults    = "results" // numbers that calls have returned
	PartCalls      = "calls"   // by function
)

// mostChanges is how many changes of a part a difference lists.
const mostChanges = 1000

const (
	mostDocument = 8 << 20 // bytes of an experiment or a prompt
)

// Change is a difference between two runs.
type Change struct {
	Part string `json:"part"` // one of the constants
	Name string `json:"name"` // of what differs, such as a field of the experiment
	A    string `json:"a"`    // empty = it is not there
	B    string `json:"b"`
	Text string `json:"text,omitempty"` // of a document: its lines in the format of diff -u; A and B are empty
}

// Difference is what Diff finds.
type Difference struct {
	A       Summary  `json:"a"`
	B       Summary  `json:"b"`
	Same    []string `json:"same"`           // parts without a change
	More    []string `json:"more,omitempty"` // parts with more than 1000 changes, of which the first are here
	Changes []Change `json:"changes"`        // in the order of the parts
}

// Diff compares two runs: what was asked, with what, and what came of it. Times and costs always
// differ and are left out. Numbers in results are compared between calls of the same function with
// the same arguments, in their order.
func Diff(a, b *Run) (Difference, error) {
	d := Difference{A: a.Summary, B: b.Summary, Same: []string{}, Changes: []Change{}}
	x, errA := gather(a)
	y, errB := gather(b)
	if err := errors.Join(errA, errB); err != nil {
		return d, err
	}
	d.add(PartSeer, compare(PartSeer, seerFacts(a), seerFacts(b)))
	d.add(PartExperiment, x.experiment.compare(y.experiment))
	d.add(PartPrompt, x.prompt.compare(y.prompt))
	d.add(PartPlugins, compare(PartPlugins, x.plugins, y.plugins))
	d.add(PartModels, compare(PartModels, x.models, y.models))
	d.add(PartCode, compare(PartCode, x.code, y.code))
	d.add(PartPackages, compare(PartPackages, x.packages, y.packages))
	d.add(PartAgent, compare(PartAgent, agentFacts(a), agentFacts(b)))
	d.add(PartResults, compare(PartResults, x.numbers, y.numbers))
	d.add(PartCalls, compare(PartCalls, x.calls, y.calls))
	return d, nil
}

func (d *Difference) add(part string, changes []Change) {
	if len(changes) == 0 {
		d.Same = append(d.Same, part)
	}
	if len(changes) > mostChanges {
		changes = changes[:mostChanges]
		d.More = append(d.More, part)
	}
	d.Changes = append(d.Changes, changes...)
}

// facts are names with values, in an order that a reader expects.
type facts []fact

type fact struct{ name, value string }

// compare finds what is not in both. Names are unique in each.
func compare(part string, a, b facts) (changes []Change) {
	other := make(map[string]string, len(b))
	for _, f := range b {
		other[f.name] = f.value
	}
	seen := make(map[string]bool, len(a))
	for _, f := range a {
		seen[f.name] = true
		if value, ok := other[f.name]; !ok || value != f.value {
			changes = append(changes, Change{Part: part, Name: f.name, A: f.value, B: value})
		}
	}
	for _, f := range b {
		if !seen[f.name] {
			changes = append(changes, Change{Part: part, Name: f.name, B: f.value})
		}
	}
	return changes
}

func seerFacts(r *Run) facts { return facts{{"version", r.Version}, {"sha256", r.SHA256}} }

func agentFacts(r *Run) facts {
	code := ""
	if r.ExitCode != nil {
		code = strconv.Itoa(*r.ExitCode)
	}
	return facts{
		{"provider", r.Provider}, {"model", r.Model}, {"program", r.Program}, {"version", r.ProgramVersion},
		{"sha256", r.ProgramSHA256}, {"state", string(r.State)}, {"exit code", code},
	}
}

// document is a file of a run that is compared by its fields or lines.
type document struct {
	part, name string
	text       []byte
	fields     facts // of JSON
}

func (d document) compare(other document) []Change {
	if d.fields != nil && other.fields != nil {
		return compare(d.part, d.fields, other.fields)
	}
	if bytes.Equal(d.text, other.text) {
		return nil
	}
	return []Change{{Part: d.part, Name: d.name, Text: string(diff.Diff("a/"+d.name, d.text, "b/"+other.name, other.text))}}
}

// readDocument reads a file; without it the document is empty.
func (r *Run) readDocument(part, name string) (document, error) {
	text, err := r.ReadFile(name, mostDocument)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("compare the %s of the run %s: %w", part, r.ID, err)
	}
	return document{part: part, name: name, text: text}, err
}

// experimentOf is the experiment as resolved; where that is missing, as written.
func (r *Run) experimentOf() (document, error) {
	d, err := r.readDocument(PartExperiment, ResolvedName)
	if err != nil {
		return d, err
	}
	if v, err := decode(d.text); err == nil {
		d.fields = flattened(v)
		return d, nil
	}
	return r.readDocument(PartExperiment, ExperimentName)
}

// flattened are the scalars in a value, by their paths with dots, sorted.
func flattened(v any) facts {
	all := facts{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch in := v.(type) {
		case map[string]any:
			for key, inner := range in {
				walk(joined(path, key), inner)
			}
			if len(in) > 0 {
				return
			}
		case []any:
			for i, inner := range in {
				walk(joined(path, strconv.Itoa(i)), inner)
			}
			if len(in) > 0 {
				return
			}
		}
		all = append(all, fact{path, plain(v)})
	}
	walk("", v)
	slices.SortFunc(all, func(a, b fact) int { return natural(a.name, b.name) })
	return all
}

func joined(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// plain is a scalar as people write it: a text without quotes, and everything else as JSON.
func plain(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
