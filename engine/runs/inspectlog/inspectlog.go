// Package inspectlog writes a run as a log of Inspect AI: an .eval file of one sample, which
// Inspect's viewer, inspect_ai and the tools that read its logs open.
//
//   - The sample's messages are the transcript: the prompt, what the agent said, thought and
//     called, and what its tools answered.
//   - Its events are, in the order of their times: each turn of the agent as a model event, each
//     tool call of the agent and each call of an exposed function as a tool event, and whatever
//     else the log of the run has as an info event. An exposed call has its ID, and its line of
//     the record in metadata.seer.
//   - Requests to the language model are info events with tokens and dollars; their sums are in
//     stats.model_usage. The model events have no usage: the agent's stream does not say which
//     request made which message.
//   - The status is success for a finished run, cancelled for a stopped one, started for a running
//     one, and error for one that failed or was interrupted. There are no scores.
package inspectlog

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/seer-engine/seer/engine/runs"
)

// version is that of Inspect's log format.
const version = 2

// Write writes the log of a run. Parts of the run that cannot be read are warnings among the
// events, and are no error.
func Write(w io.Writer, r *runs.Run) error {
	b := newBuilder(r)
	sample := b.sample()
	header := object{
		"version": version, "status": b.status(), "eval": b.spec(), "plan": plan(), "stats": b.stats(), "results": b.results(),
		"invalidated": false, "log_updates": []any{}, "tags": []any{}, "metadata": object{},
	}
	if e := b.failure(); e != nil {
		header["error"] = e
	}
	summary := object{}
	for _, key := range []string{"id", "epoch", "input", "target", "metadata", "model_usage", "role_usage", "started_at", "completed_at", "total_time", "uuid"} {
		summary[key] = sample[key]
	}
	summary["input"] = cut(b.prompt, 1024)
	summary["completed"] = b.run.State != runs.Running
	summary["message_count"] = len(b.messages)
	if e := b.failure(); e != nil {
		summary["error"] = e["message"]
	}
	out := zip.NewWriter(w)
	for _, entry := range []struct {
		name  string
		value any
	}{
		{"_journal/start.json", object{"version": version, "eval": header["eval"], "plan": header["plan"]}},
		{fmt.Sprintf("samples/%s_epoch_1.json", sampleID), sample},
		{"_journal/summaries/1.json", []any{summary}},
		{"summaries.json", []any{summary}},
		{"header.json", header},
	} {
		if err := b.entry(out, entry.name, entry.value); err != nil {
			return fmt.Errorf("write the Inspect log of the run %s: %w", r.ID, err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write the Inspect log of the run %s: %w", r.ID, err)
	}
	return nil
}

func (b *builder) entry(out *zip.Writer, name string, value any) error {
	w, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.run.Started.Truncate(2 * time.Second)})
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(value)
}

// object is one of JSON.
type object = map[string]any

func plan() object { return object{"name": "plan", "steps": []any{}, "config": object{}} }
