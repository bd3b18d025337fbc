package notebook

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Version is a notebook's version. It says nothing but whether two are the same.
type Version string

// UnmarshalJSON takes a number, too.
func (v *Version) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] != '"' {
		if *v = Version(data); *v == "null" {
			*v = ""
		}
		return nil
	}
	return json.Unmarshal(data, (*string)(v))
}

// Info is what the notebook service says of itself.
type Info struct {
	Service       int       `json:"seer_notebook"` // the version of what it speaks
	Version       string    `json:"version"`
	Root          string    `json:"root"`
	NotebooksDir  string    `json:"notebooks_dir"`
	Collaboration bool      `json:"collaboration"`
	Sessions      []Session `json:"sessions"`
}

// SessionState is how a session is.
type SessionState string

// The states of a [Session].
const (
	SessionStarting   SessionState = "starting"
	SessionPrepared   SessionState = "prepared" // a kernel that waits for its notebook
	SessionIdle       SessionState = "idle"
	SessionBusy       SessionState = "busy"
	SessionRestarting SessionState = "restarting"
	SessionDead       SessionState = "dead" // Message says why
	SessionClosed     SessionState = "closed"
)

// Session is a notebook with its kernel. Times are unix seconds.
type Session struct {
	ID             string       `json:"id"`
	Name           string       `json:"name"`
	Path           string       `json:"path"` // of the notebook, relative to Info.Root; empty = it has none yet
	State          SessionState `json:"state"`
	Message        string       `json:"message"`
	KernelID       string       `json:"kernel_id"`
	KernelName     string       `json:"kernel_name"`
	ExecutionCount int          `json:"execution_count"`
	Cells          int          `json:"cells"`
	Version        Version      `json:"version"`
	Setup          []Setup      `json:"setup"`
	Created        float64      `json:"created_unix"`
	LastUse        float64      `json:"last_use_unix"`
	Dropped        int          `json:"dropped"` // queued cells that an interrupt or a restart has dropped
}

// Setup is how a set-up cell went.
type Setup struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// Cell is a cell of a notebook.
type Cell struct {
	Index          int      `json:"index"`
	ID             string   `json:"id"`
	Type           string   `json:"type"` // code, markdown, raw
	Source         Text     `json:"source"`
	ExecutionCount *int     `json:"execution_count"`
	Outputs        []Output `json:"outputs"`
	State          string   `json:"state"` // idle, queued, running
}

// Text is a text of a notebook, which may be written as a list of its lines.
type Text string

// UnmarshalJSON takes both ways of writing.
func (t *Text) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		var lines []string
		if err := json.Unmarshal(data, &lines); err != nil {
			return err
		}
		*t = Text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// Output is an output of a cell as nbformat has it.
type Output struct {
	Type      string                     `json:"output_type"` // stream, display_data, execute_result, error
	Name      string                     `json:"name,omitempty"`
	Text      Text                       `json:"text,omitempty"`
	Data      map[string]json.RawMessage `json:"data,omitempty"` // by media type
	Metadata  json.RawMessage            `json:"metadata,omitempty"`
	Count     *int                       `json:"execution_count,omitempty"`
	EName     string                     `json:"ename,omitempty"`
	EValue    string                     `json:"evalue,omitempty"`
	Traceback []string                   `json:"traceback,omitempty"`
	Transient struct {
		DisplayID string `json:"display_id,omitempty"`
	} `json:"transient,omitzero"`
}

// ExecutionState is how far an execution has come.
type ExecutionState string

// The states of an [Execution].
const (
	Queued      ExecutionState = "queued"
	Running     ExecutionState = "running"
	Done        ExecutionState = "done"
	Failed      ExecutionState = "error"       // the cell raised
	Interrupted ExecutionState = "interrupted" // somebody did that
	Dead        ExecutionState = "dead"        // the kernel died under it
	Dropped     ExecutionState = "dropped"     // it was queued and never ran
)

// Over reports whether nothing more will come of it.
func (s ExecutionState) Over() bool { return s != Queued && s != Running }

// Execution is a run of a cell, or of several where a notebook is restored.
type Execution struct {
	ID             string         `json:"id"`
	Session        string         `json:"session"`
	Cell           *string        `json:"cell"` // nil where there is none
	State          ExecutionState `json:"state"`
	Position       int            `json:"position"` // executions that go first
	ExecutionCount *int           `json:"execution_count"`
	Queued         float64        `json:"queued_unix"`
	Started        float64        `json:"started_unix"`
	Ended          float64        `json:"ended_unix"`
	Error          *Raised        `json:"error"`
	Events         int            `json:"events"`
	TextBytes      int64          `json:"text_bytes"`
	Cut            bool           `json:"cut"` // the notebook has not the whole text
}

// Raised is an exception of the user's code.
type Raised struct {
	EName     string   `json:"ename"`
	EValue    string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// Run is what came of a request to run something: its cell where there is one, and its
// execution where it runs.
type Run struct {
	Cell      *Cell      `json:"cell"`
	Execution *Execution `json:"execution"`
}

// The types of an [Event].
const (
	EventOutput = "output"
	EventUpdate = "update" // a display was updated
	EventClear  = "clear"
	EventInput  = "input" // the cell asked for input, and was told that nobody is there
	EventNote   = "note"
	EventEnd    = "end"
)

// Event is what happened in an execution.
type Event struct {
	N         int        `json:"n"`
	Type      string     `json:"t"`
	Output    *Output    `json:"output,omitempty"`
	DisplayID string     `json:"display_id,omitempty"`
	Text      string     `json:"text,omitempty"`
	Execution *Execution `json:"execution,omitempty"`
	Wait      bool       `json:"wait,omitempty"` // of clear: when the next output comes
}

// Variable is a name of the user's in a kernel. What is not known of it is left out.
type Variable struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Module  string          `json:"module,omitempty"`
	Shape   json.RawMessage `json:"shape,omitempty"`
	DType   string          `json:"dtype,omitempty"`
	Length  *int64          `json:"length,omitempty"`
	Bytes   *int64          `json:"bytes,omitempty"`
	Preview string          `json:"preview,omitempty"`
}
