package inspectlog

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

const (
	sampleID    = "run"     // of the only sample
	maxDocument = 4 << 20   // bytes of the prompt and of what the run was resolved to
	maxText     = 4 << 20   // bytes of a text in the log
	noModel     = "unknown" // of an agent of which no model is known
)

// builder gathers what the files of a log share.
type builder struct {
	run      *runs.Run
	prompt   string
	sandbox  any // of the resolved experiment: provider, GPU
	items    []runs.Item
	messages []object
	events   []timed
	usage    map[string]usage
}

// usage is what requests to a model have used.
type usage struct {
	Input      int64   `json:"input_tokens"` // without those of the cache, as Inspect counts them
	Output     int64   `json:"output_tokens"`
	Total      int64   `json:"total_tokens"`
	CacheRead  int64   `json:"input_tokens_cache_read"`
	CacheWrite int64   `json:"input_tokens_cache_write"`
	Cost       float64 `json:"total_cost"`
}

func newBuilder(r *runs.Run) *builder {
	b := &builder{run: r, usage: map[string]usage{}}
	if data, err := r.ReadFile(runs.PromptName, maxDocument); err == nil {
		b.prompt = strings.ToValidUTF8(string(data), "\uFFFD")
	}
	if data, err := r.ReadFile(runs.ResolvedName, maxDocument); err == nil {
		var resolved struct {
			Sandbox any `json:"sandbox"`
		}
		if json.Unmarshal(data, &resolved) == nil {
			b.sandbox = resolved.Sandbox
		}
	}
	b.readEvents()
	b.addCalls()
	items, err := r.Transcript()
	if err != nil {
		b.warn("the transcript cannot be read: " + err.Error())
	}
	b.items = items
	b.addMessages()
	return b
}

// status is that of Inspect for the state of the run.
func (b *builder) status() string {
	switch b.run.State {
	case runs.Finished:
		return "success"
	case runs.Stopped:
		return "cancelled"
	case runs.Running:
		return "started"
	}
	return "error"
}

// failure is why the run has the status error; nil = it has another one.
func (b *builder) failure() object {
	if b.status() != "error" {
		return nil
	}
	message := b.run.Error
	if b.run.State == runs.Interrupted {
		message = "the run was interrupted: its log has no end"
	}
	return object{"message": cut(cmp.Or(message, "the run failed"), maxText), "traceback": "", "traceback_ansi": ""}
}

func (b *builder) model() string { return cmp.Or(valid(b.run.Model), noModel) }

// spec says what was run.
func (b *builder) spec() object {
	s := &b.run.Summary
	return object{
		"eval_id": s.ID, "run_id": s.ID, "task_id": s.ID, "created": stamp(s.Started),
		"task": cmp.Or(valid(s.Experiment), "run"), "task_version": 0, "task_attribs": object{}, "task_args": object{}, "task_args_passed": object{},
		"task_file": valid(s.File), "solver": cmp.Or(valid(s.Provider), "agent"), "tags": []any{"seer"},
		"dataset": object{"name": cmp.Or(valid(s.Experiment), "run"), "samples": 1, "sample_ids": []any{sampleID}, "shuffled": false},
		"model":   b.model(), "model_generate_config": object{}, "model_args": object{},
		"config": object{"epochs": 1}, "packages": object{"seer": valid(s.Version)}, "metadata": object{"seer": b.summary()},
	}
}

// summary is what Seer says of the run as a whole.
func (b *builder) summary() object {
	s := &b.run.Summary
	return object{
		"run": s.ID, "state": s.State, "exit_code": s.ExitCode, "provider": valid(s.Provider), "program": valid(s.Program),
		"program_version": valid(s.ProgramVersion), "program_sha256": valid(s.ProgramSHA256), "seer_sha256": valid(s.SHA256), "sandbox": valid(s.Sandbox),
		"calls": s.Calls, "sandbox_usd": s.Cost, "model_usd": s.ModelCost, "estimated": s.Estimated, "unpriced": s.Unpriced,
	}
}

func (b *builder) stats() object {
	return object{
		"started_at": stamp(b.run.Started), "completed_at": b.completed(), "model_usage": b.usage, "role_usage": object{}, "connection_limit_history": []any{},
	}
}

func (b *builder) results() object {
	done := 1
	if b.run.State != runs.Finished {
		done = 0
	}
	return object{"total_samples": 1, "completed_samples": done, "scores": []any{}}
}

func (b *builder) completed() string {
	if b.run.State == runs.Running {
		return ""
	}
	return stamp(b.end())
}

func (b *builder) end() time.Time {
	if b.run.Ended.IsZero() {
		return b.run.Last
	}
	return b.run.Ended
}

func (b *builder) sample() object {
	s := object{
		"id": sampleID, "epoch": 1, "input": b.prompt, "target": "", "messages": b.messages, "output": b.output(),
		"metadata": object{"seer": b.summary()}, "store": object{}, "events": b.sorted(), "model_usage": b.usage, "role_usage": object{},
		"attachments": object{}, "uuid": b.run.ID, "started_at": stamp(b.run.Started), "total_time": b.run.Seconds, "completed_at": nil,
	}
	if done := b.completed(); done != "" {
		s["completed_at"] = done
	}
	if e := b.failure(); e != nil {
		s["error"] = e
	}
	return s
}

// output is the agent's last message.
func (b *builder) output() object {
	for i := len(b.messages) - 1; i >= 0; i-- {
		if b.messages[i]["role"] == "assistant" {
			return b.outputOf(b.messages[i], "stop")
		}
	}
	return object{"model": b.model(), "choices": []any{}, "completion": ""}
}

func (b *builder) outputOf(message object, reason string) object {
	return object{
		"model": b.model(), "completion": completion(message),
		"choices": []any{object{"message": message, "stop_reason": reason}},
	}
}

// completion is the text of a message.
func completion(message object) string {
	switch c := message["content"].(type) {
	case string:
		return c
	case []any:
		for _, part := range c {
			if p, ok := part.(object); ok && p["type"] == "text" {
				text, _ := p["text"].(string)
				return text
			}
		}
	}
	return ""
}

// readEvents adds what the log has, but for the transcript.
func (b *builder) readEvents() {
	for e, err := range b.run.Events() {
		if err != nil {
			b.warn("a part of the log cannot be read: " + err.Error())
			continue
		}
		switch d := e.Data.(type) {
		case event.AgentUpdate: // in the transcript
		case event.ModelRequest:
			b.count(d)
			b.info(e.Time, e.Type, d)
		case event.RunStarted:
			b.info(e.Time, e.Type, d)
			if b.sandbox != nil {
				b.info(e.Time, "run.sandbox", b.sandbox)
			}
		default:
			b.info(e.Time, e.Type, e.Data)
		}
	}
}

func (b *builder) count(r event.ModelRequest) {
	model := cmp.Or(valid(r.Model), b.model())
	u := b.usage[model]
	u.Input, u.Output = u.Input+max(0, r.Input), u.Output+max(0, r.Output)
	u.CacheRead, u.CacheWrite = u.CacheRead+max(0, r.CacheRead), u.CacheWrite+max(0, r.CacheWrite)
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	if sum := u.Cost + r.Cost; sum < 1e15 { // a stranger's can be anything
		u.Cost = sum
	}
	b.usage[model] = u
}

func stamp(t time.Time) string {
	if t.Year() < 1 || t.Year() > 9999 {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000+00:00")
}

// cut is a text of at most limit bytes.
func cut(text string, limit int) string {
	text = valid(text)
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "\n[cut; the folder of the run has the rest]"
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
