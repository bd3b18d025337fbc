package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

const (
	maxDocument = 4 << 20 // bytes of run.json, the experiment and others
	maxWarnings = 200
)

// source is what a page is made from.
type source struct {
	runs.Summary
	run       *runs.Run
	items     []runs.Item
	calls     []call
	byID      map[string]*call // calls that can be cited
	scalars   scalars
	requests  []request
	artifacts []event.RunArtifact
	warnings  []warning
	origin    origin
	made      runs.Provenance
	notebooks []notebook
	figures   []file
	reports   []file // Markdown among the outputs
	faults    []string
}

// request is a request of the agent to its language model.
type request struct {
	event.ModelRequest
	Time time.Time // of its end
}

type warning struct {
	Time time.Time
	Text string
}

// origin is what run.json says of the end of the run.
type origin struct {
	Calls       string `json:"calls"`
	HiddenNames []struct {
		Where string `json:"where"`
		Times int    `json:"times"`
	} `json:"hidden_names"`
}

func read(r *runs.Run) *source {
	s := &source{Summary: r.Summary, run: r, artifacts: r.Artifacts(), made: r.Provenance()}
	var err error
	s.items, err = r.Transcript()
	s.fault("the transcript", err)
	s.readEvents()
	s.readCalls()
	s.readJSON(runs.RunName, &s.origin)
	s.readOutputs()
	return s
}

// fault notes what cannot be read. What is not there is no fault.
func (s *source) fault(what string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && len(s.faults) < maxWarnings {
		s.faults = append(s.faults, line(fmt.Sprintf("%s: %v", what, err), 1000))
	}
}

func (s *source) readEvents() {
	for e, err := range s.run.Events() {
		if err != nil {
			s.fault(runs.EventsName, err)
			continue
		}
		switch d := e.Data.(type) {
		case event.ModelRequest:
			s.requests = append(s.requests, request{d, e.Time})
		default:
			if e.Kind() == event.KindWarning && len(s.warnings) < maxWarnings {
				s.warnings = append(s.warnings, warning{e.Time, line(warningText(e), 1000)})
			}
		}
	}
}

// warningText is the message of a warning, or its fields.
func warningText(e event.Event) string {
	var fields map[string]any
	data, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return string(e.Type)
	}
	if message, ok := fields["message"].(string); ok {
		return message
	}
	return fmt.Sprintf("%s %s", e.Type, strings.TrimSpace(string(data)))
}

func (s *source) readJSON(name string, into any) {
	data, err := s.run.ReadFile(name, maxDocument)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	s.fault(name, err)
}

// result is the place of the agent's last message in the transcript; -1 = it said nothing.
func (s *source) result() int {
	for i := len(s.items) - 1; i >= 0; i-- {
		if s.items[i].Kind == runs.ItemMessage && strings.TrimSpace(s.items[i].Text) != "" {
			return i
		}
	}
	return -1
}
