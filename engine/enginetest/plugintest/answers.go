package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk/schema"
)

// answers holds what the plugin has answered against the contract's schema.
type answers struct {
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by export
	seen    int
	wrong   map[string]string // by export: the first mistake
}

func newAnswers() (*answers, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Contract()))
	if err != nil {
		return nil, err
	}
	a := &answers{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, wrong: map[string]string{}}
	return a, a.compiler.AddResource(schema.ContractURL, doc)
}

// take is [host.Options.Answer].
func (a *answers) take(_ host.Plugin, export string, answer json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	if a.wrong[export] != "" {
		return
	}
	if err := a.validate(export, answer); err != nil {
		a.wrong[export] = strings.Join(strings.Fields(err.Error()), " ")
	}
}

func (a *answers) validate(export string, answer json.RawMessage) error {
	have := a.schemas[export]
	if have == nil {
		var err error
		if have, err = a.compiler.Compile(schema.ContractURL + "#/$defs/" + export + ".result"); err != nil {
			return err
		}
		a.schemas[export] = have
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return err
	}
	return have.Validate(value)
}

// judge tells of the answers so far.
func (r *run) judge(a *answers, start time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var wrong []string
	for _, export := range slices.Sorted(maps.Keys(a.wrong)) {
		wrong = append(wrong, fmt.Sprintf("an answer of %s is not of the contract's form: %.600s", export, a.wrong[export]))
	}
	r.add("contract/answers-of-the-schema", start, strings.Join(wrong, "; "), fmt.Errorf("%d answers", a.seen))
}
