package main

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// eventSchema is the published schema of events.
func eventSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("../../engine/event/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// events checks the lines on stderr that report events: each fits the schema and has a
// sentence, and those of a run are counted without a gap.
func (j *jsonTrial) events(name string, lines []any, schema *jsonschema.Schema) {
	j.t.Helper()
	last := map[any]float64{}
	for _, line := range lines {
		m, _ := line.(map[string]any)
		e, ok := m["event"].(map[string]any)
		if !ok {
			continue
		}
		if err := schema.Validate(e); err != nil {
			j.t.Errorf("seer %s: the event %v: %v", name, e, err)
			continue
		}
		if seq := e["seq"].(float64); seq != last[e["run"]]+1 {
			j.t.Errorf("seer %s: the event %v comes after %v of its run", name, e, last[e["run"]])
		}
		last[e["run"]], _ = e["seq"].(float64)
		if text, _ := m["text"].(string); text == "" || m["kind"] == "" {
			j.t.Errorf("seer %s: the line %v", name, m)
		}
		if path := nullIn(e, ""); path != "" {
			j.t.Errorf("seer %s: null at %s of the event %v", name, path, e)
		}
	}
	if runs := strings.Fields(name)[0] == "run" || name == "up"; runs && len(last) == 0 {
		j.t.Errorf("seer %s reports no events", name)
	}
}
