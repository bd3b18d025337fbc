// Package runs keeps runs as folders: it writes the events of a run while it goes on, and lists,
// reads, compares and removes the folders later. docs/runs.md specifies what a folder holds.
//
// The log, events.jsonl, is the source. Summary and transcript are computed from it alone, so
// that they exist for a run whose program was killed. A folder may come from a stranger: nothing
// outside of it is read through links, reads are bounded, and no text is sanitized.
package runs

import (
	"time"
)

// Names in the folder of a run.
const (
	EventsName     = "events.jsonl"
	RecordName     = "record"
	BlobsName      = "blobs"
	ExperimentName = "experiment.yaml" // as written
	ResolvedName   = "resolved.json"
	PromptName     = "prompt.md"
	RunName        = "run.json"
	ModelsName     = "run.models.json"
	LogName        = "agent.log"
	OutputsName    = "outputs"
	ReportName     = "report.html"
	LatestName     = "latest" // beside the folders: a link to the newest
	DefaultRoot    = "runs"   // in the working folder
)

// State is what has become of a run.
type State string

// The states of runs.
const (
	Running     State = "running"     // its program lives and writes the log
	Finished    State = "finished"    // the agent has ended by itself
	Failed      State = "failed"      // the log says why
	Stopped     State = "stopped"     // by the user, or by a limit
	Interrupted State = "interrupted" // its program has died: the log has no end
)

// Summary says what a run was, as its log has it. A number that the log does not have is 0, a
// text empty.
type Summary struct {
	Dir            string    `json:"folder"` // absolute path
	ID             string    `json:"id"`     // run-…
	Experiment     string    `json:"experiment"`
	File           string    `json:"file,omitempty"` // of the experiment, at the time of the run
	Version        string    `json:"seer_version"`
	SHA256         string    `json:"seer_sha256,omitempty"` // of the program that ran it
	State          State     `json:"state"`
	Started        time.Time `json:"started"`                   // UTC
	Ended          time.Time `json:"ended,omitzero"`            // UTC; zero without an end in the log
	Last           time.Time `json:"last_event"`                // UTC
	Seconds        float64   `json:"seconds"`                   // up to the end, or to the last event
	ExitCode       *int      `json:"exit_code,omitempty"`       // of an agent that ended by itself
	Error          string    `json:"error,omitempty"`           // why it failed or was stopped
	Provider       string    `json:"provider,omitempty"`        // of the agent, such as claude
	Model          string    `json:"model,omitempty"`           // of the agent: that of the experiment, else that of its first request
	Program        string    `json:"program,omitempty"`         // path of the agent's program
	ProgramVersion string    `json:"program_version,omitempty"` // as the program states it
	ProgramSHA256  string    `json:"program_sha256,omitempty"`
	Sandbox        string    `json:"sandbox,omitempty"` // ID
	Calls          int       `json:"calls"`             // of functions
	Files          int       `json:"files"`             // results of the agent
	Cost           float64   `json:"sandbox_usd"`
	ModelCost      float64   `json:"model_usd"`
	Requests       int64     `json:"model_requests"`
	Input          int64     `json:"input_tokens"`  // without those of the cache
	Output         int64     `json:"output_tokens"` // with thoughts
	CacheRead      int64     `json:"cache_read_tokens"`
	CacheWrite     int64     `json:"cache_write_tokens"`
	Estimated      bool      `json:"estimated,omitempty"` // some tokens are estimates
	Unpriced       bool      `json:"unpriced,omitempty"`  // some requests are to models without a known price
	EventCount     int64     `json:"events"`              // lines of the log that can be read
	Lost           int64     `json:"lost_events"`         // that the log lacks, as after a full disk
	Faults         int       `json:"faults"`              // lines of the log that are no events
}

// Kinds of [Item].
const (
	ItemUser    = "user_message"
	ItemMessage = "agent_message"
	ItemThought = "agent_thought"
	ItemTool    = "tool_call"
	ItemPlan    = "plan"
	ItemTurn    = "turn_ended"
	ItemOther   = "other" // an update that this program does not know
)

// Item is one part of a transcript. No text in it is sanitized.
type Item struct {
	Kind  string    `json:"kind"` // one of the constants above
	Seq   int64     `json:"seq"`  // of its first event
	Time  time.Time `json:"time"` // of its first event, UTC
	Ended time.Time `json:"ended"`

	// Text is that of a message or thought with all its chunks, the reason (and error) of a turn's
	// end, or an update that this program does not know: its JSON, or the line of the agent's program.
	// Content that is no text is in brackets: [image image/png].
	Text string `json:"text,omitempty"`

	Tool *ToolCall   `json:"tool,omitempty"` // of ItemTool, else nil
	Plan []PlanEntry `json:"plan,omitempty"` // of ItemPlan: the plan as of this moment
}

// ToolCall is a tool call with all its updates.
type ToolCall struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind,omitempty"`   // of ACP, such as read, edit, execute
	Status string `json:"status,omitempty"` // pending, in_progress, completed or failed, as of the last update
	Input  any    `json:"input,omitempty"`  // rawInput, as encoding/json decodes it with UseNumber; nil = none
	Output any    `json:"output,omitempty"` // rawOutput, in the same way
	// Content are the blocks of the last update that has any: objects of ACP's ToolCallContent.
	Content []any  `json:"content,omitempty"`
	Text    string `json:"text,omitempty"` // the text in Content
}

// PlanEntry is a step of a plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority,omitempty"`
	Status   string `json:"status,omitempty"`
}
