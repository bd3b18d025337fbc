package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk/schema"
)

// answers holds what the plugin has answered against the contract's schema.
type answers struct {
	contract jsonschema.Schema

	mu      sync.Mutex
	schemas map[string]*jsonschema.Resolved // by export
	seen    int
	wrong   map[string]string // by export: the first mistake
}

func newAnswers() (*answers, error) {
	a := &answers{schemas: map[string]*jsonschema.Resolved{}, wrong: map[string]string{}}
	return a, json.Unmarshal(schema.Contract(), &a.contract)
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
		text := strings.Join(strings.Fields(err.Error()), " ")
		if _, inner, ok := strings.Cut(text, "/$defs/"+export+".result: "); ok {
			text = inner
		}
		a.wrong[export] = text
	}
}

func (a *answers) validate(export string, answer json.RawMessage) error {
	have := a.schemas[export]
	if have == nil {
		result := a.contract
		result.Ref = "#/$defs/" + export + ".result"
		var err error
		if have, err = result.Resolve(nil); err != nil {
			return err
		}
		a.schemas[export] = have
	}
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
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
