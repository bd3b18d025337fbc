package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Config is the experiment in its canonical form, as a JSON object: overrides are in it
// and defaults filled in; durations are seconds. Of an experiment that was built in code
// it has the Go names.
func (e *Experiment) Config() (json.RawMessage, error) {
	var from any = e
	if e.values != nil {
		from = mapLeaves(e.values, func(v any) any {
			if d, ok := v.(time.Duration); ok {
				return d.Seconds()
			}
			return v
		})
	}
	text, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("write the experiment as JSON: %w", err)
	}
	return text, nil
}

// FromConfig is the experiment of [Experiment.Config]. Facts that the configuration lacks,
// such as the place of the file, stay unknown, so local paths mean nothing.
func FromConfig(config json.RawMessage) (*Experiment, error) {
	var built struct{ Sandbox json.RawMessage }
	if err := json.Unmarshal(config, &built); err != nil {
		return nil, fmt.Errorf("read the experiment of a sandbox: %w", err)
	}
	if bytes.Contains(built.Sandbox, []byte(`"ExecutionMode"`)) { // it was built in code
		e := &Experiment{}
		return e, json.Unmarshal(config, e)
	}
	e, err := Parse(config, "/experiment", LoadOptions{Partial: true}) // the working folder may be gone
	if e == nil {
		return nil, err
	}
	e.File, e.shown, e.marks = "", "", nil // errors point nowhere
	return e, nil
}
