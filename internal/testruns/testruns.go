// Package testruns makes folders of runs for tests, by the writer of runs: what an agent said and
// did, a record of calls, and the files that it left.
package testruns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
)

// ID is that of all runs of this package.
const ID = "run-0123456789abcdef"

// Start is when they start.
var Start = time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC)

// Run is a run that is written. Its events have one second between them.
type Run struct {
	Folder *runs.Folder
	now    time.Time
	report event.Reporter
	calls  []record.Entry
	errs   []error
}

// New begins a run in a new folder of root, with the start of its log.
func New(root string) (*Run, error) {
	f, err := runs.Create(root, "probe", ID, Start)
	if err != nil {
		return nil, err
	}
	r := &Run{Folder: f, now: Start.Add(-time.Second)}
	r.report = event.NewReporter(ID, event.SourceEngine, func() time.Time { r.now = r.now.Add(time.Second); return r.now }, f.Append)
	r.Send(
		event.RunStarted{Experiment: "hidden-behaviour-audit", File: "/home/ada/audit/seer.yaml", Folder: f.Path(), Version: "0.0.0-test", SHA256: hash([]byte("seer"))},
		event.SandboxReady{Sandbox: "sb-7f3a"},
		event.AgentProgram{Provider: "claude", Path: "/usr/bin/claude", Version: "2.1.330", SHA256: hash([]byte("claude")), Model: "model-large"},
		event.AgentStarted{Isolation: "bubblewrap", Network: "model only"},
	)
	return r, nil
}

// Send writes events.
func (r *Run) Send(all ...event.Data) {
	for _, d := range all {
		r.report.Send(d)
	}
}

// Update writes an update of the agent.
func (r *Run) Update(kind string, fields map[string]any) {
	u := map[string]any{"sessionUpdate": kind}
	for key, v := range fields {
		u[key] = v
	}
	r.Send(event.AgentUpdate{Update: u, Native: `{"type":"native"}`})
}

// Say writes a chunk of a message of a kind, such as agent_message_chunk.
func (r *Run) Say(kind, text string) {
	r.Update(kind, map[string]any{"content": map[string]any{"type": "text", "text": text}})
}

// Tool writes a tool call with its result.
func (r *Run) Tool(id, title string, input map[string]any, output string) {
	r.Update("tool_call", map[string]any{"toolCallId": id, "title": title, "kind": "execute", "status": "pending", "rawInput": input})
	r.Update("tool_call_update", map[string]any{"toolCallId": id, "status": "completed", "content": []any{
		map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": output}},
	}})
}

// Call records a call; arguments and result are JSON. Its times are set, if it has none.
func (r *Run) Call(e record.Entry, arguments, result string) {
	if e.Started == 0 {
		e.Started = float64(r.now.Unix()) + 0.25
		e.Queued, e.Ended = e.Started-0.1, e.Started+max(e.Seconds, 0.5)
	}
	e.Arguments, e.Result = r.body(arguments), r.body(result)
	r.calls = append(r.calls, e)
}

func (r *Run) body(text string) string {
	if text == "" {
		return ""
	}
	name := hash([]byte(text))
	r.File(path.Join(runs.RecordName, "bodies", name[:2], name), []byte(text))
	return name
}

// File writes a file of the run.
func (r *Run) File(name string, data []byte) {
	to := filepath.Join(r.Folder.Path(), filepath.FromSlash(name))
	r.errs = append(r.errs, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o600))
}

// Output writes a file among the outputs, and names it in the log.
func (r *Run) Output(name string, data []byte) {
	name = path.Join(runs.OutputsName, name)
	kind := "output"
	if strings.HasSuffix(name, ".ipynb") {
		kind = "notebook"
	}
	r.File(name, data)
	r.Send(event.RunArtifact{Path: name, Kind: kind, SHA256: hash(data), Bytes: int64(len(data))})
}

// End ends the log, and returns the run. Without a state, it is that of a run that was killed.
func (r *Run) End(state runs.State, failure string) (*runs.Run, error) {
	var lines strings.Builder
	for _, e := range r.calls {
		text, err := json.Marshal(e)
		r.errs = append(r.errs, err)
		lines.Write(append(text, '\n'))
	}
	if len(r.calls) > 0 {
		r.File(runs.RecordName+"/calls.jsonl", []byte(lines.String()))
	}
	if state != "" {
		r.Send(event.RunEnded{State: string(state), ExitCode: 0, Error: failure, Seconds: r.now.Sub(Start).Seconds(), Calls: len(r.calls), Files: 3, Cost: 0.41, ModelCost: 0.0634})
	}
	r.errs = append(r.errs, r.Folder.Close())
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return runs.Open(r.Folder.Path())
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
