// Package event says what happens while a sandbox is made, used, saved and ended, as data:
// each type of event has a Go type with its fields. A program shows an event in its own
// words, or in the sentence of package eventtext; docs/events.md lists all types.
package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Event is one thing that happened in one run. A consumer must ignore types and fields that
// it does not know.
type Event struct {
	// Seq counts the events of a run: 1, 2, 3 … It is 0 for [KindCopied], which is for a
	// display only and belongs to no log.
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`   // UTC
	Run    string    `json:"run"`    // ID of the run, or of the operation, that it belongs to
	Source string    `json:"source"` // who reports it, such as engine
	Type   Type      `json:"type"`
	Data   Data      `json:"data"` // never nil; its Go type belongs to Type
}

// The values of [Event].Source.
const (
	SourceEngine = "engine"
	SourceCLI    = "cli"
)

// Data are the fields of one type of event: one of the structs in [Types]. Each of these embeds the
// kind that all events of the type have.
type Data interface {
	kind() Kind
}

// Type names a type of event: a stage and, after a dot, what happened.
type Type string

// Stage is the part of the work that events of this type belong to.
func (t Type) Stage() Stage {
	stage, _, _ := strings.Cut(string(t), ".")
	return Stage(stage)
}

// Stage is a part of the work: the first word of a [Type].
type Stage string

// The stages.
const (
	StageRun       Stage = "run"    // a run with its folder
	StagePlugin    Stage = "plugin" // a plugin is prepared, fetched or tried
	StageFix       Stage = "fix"    // what this computer lacks is installed
	StagePreflight Stage = "preflight"
	StageModel     Stage = "model"
	StageMachine   Stage = "machine"
	StageBoot      Stage = "boot"
	StageUpload    Stage = "upload"
	StageSession   Stage = "session" // Jupyter, VS Code, kernels, workspaces
	StageSnapshot  Stage = "snapshot"
	StageService   Stage = "service"
	StageCall      Stage = "call"
	StageAgent     Stage = "agent"
	StageEnd       Stage = "end"
	StageNote      Stage = "note" // a remark of the program that shows the events
)

// Kind says how an event is shown.
type Kind string

// The kinds.
const (
	KindStep    Kind = "step"    // something begins, or a fact is reported
	KindDone    Kind = "done"    // a part of the work is finished
	KindWarning Kind = "warning" // something weaker or other than the user may expect
	KindOutput  Kind = "output"  // a line that somebody else has printed, such as an installer
	KindCopied  Kind = "copied"  // how far the copying of the last step is, some times a second
)

type (
	step    struct{}
	done    struct{}
	warning struct{}
	output  struct{}
	copied  struct{}
)

func (step) kind() Kind    { return KindStep }
func (done) kind() Kind    { return KindDone }
func (warning) kind() Kind { return KindWarning }
func (output) kind() Kind  { return KindOutput }
func (copied) kind() Kind  { return KindCopied }

// Kind is that of the event's type.
func (e Event) Kind() Kind { return e.Data.kind() }

// Stage is that of the event's type.
func (e Event) Stage() Stage { return e.Type.Stage() }

// Unknown is the data of an event whose type this program does not know: it was written by
// a newer one.
type Unknown struct {
	step
	Type Type
	Raw  json.RawMessage
}

// MarshalJSON implements [json.Marshaler].
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// UnmarshalJSON implements [json.Unmarshaler]. It keeps the data of a type that it does not
// know as [Unknown].
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	read := struct {
		*plain
		Data json.RawMessage `json:"data"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	data, err := decode(e.Type, read.Data)
	if err != nil {
		return fmt.Errorf("read an event of the type %q: %w", e.Type, err)
	}
	e.Data = data
	return nil
}
