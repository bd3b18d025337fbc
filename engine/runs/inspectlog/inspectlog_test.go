package inspectlog_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/runs/inspectlog"
	"github.com/seer-engine/seer/internal/testruns"
)

// message and the types below are the parts of Inspect's types that the tests look at.
type message struct {
	ID, Role   string
	Content    json.RawMessage
	ToolCallID string                          `json:"tool_call_id"`
	ToolCalls  []struct{ ID, Function string } `json:"tool_calls"`
	Error      *struct{ Type, Message string }
}

type inspectEvent struct {
	Event, Source, ID, Function, Timestamp, UUID string
	Arguments                                    map[string]any
	Result                                       string
	Error                                        *struct{ Type, Message string }
	Data                                         map[string]any
	Metadata                                     map[string]any
}

type sample struct {
	Input    string
	Messages []message
	Events   []inspectEvent
	Error    *struct{ Message string }
}

type header struct {
	Version int
	Status  string
	Error   *struct{ Message string }
	Stats   struct {
		Usage map[string]struct {
			Input int64   `json:"input_tokens"`
			Total int64   `json:"total_tokens"`
			Cost  float64 `json:"total_cost"`
		} `json:"model_usage"`
	}
}

// written is the log of a run: its files, and two of them.
func written(t *testing.T, write func(root string) (*runs.Run, error)) (names []string, h header, s sample) {
	t.Helper()
	run, err := write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	for _, to := range []*bytes.Buffer{&out, &again} {
		if err := inspectlog.Write(to, run); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the same run has two different logs")
	}
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		names = append(names, f.Name)
		into := map[string]any{"header.json": &h, "samples/run_epoch_1.json": &s}[f.Name]
		if into == nil {
			continue
		}
		r, err := f.Open()
		if err == nil {
			err = json.NewDecoder(r).Decode(into)
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	return names, h, s
}

func custom(t *testing.T, fill func(r *testruns.Run)) (header, sample) {
	t.Helper()
	_, h, s := written(t, func(root string) (*runs.Run, error) {
		r, err := testruns.New(root)
		if err != nil {
			return nil, err
		}
		fill(r)
		return r.End(runs.Finished, "")
	})
	return h, s
}

func tools(s sample) map[string]inspectEvent {
	all := map[string]inspectEvent{}
	for _, e := range s.Events {
		if e.Event == "tool" {
			all[e.ID] = e
		}
	}
	return all
}

func TestFiles(t *testing.T) {
	names, h, s := written(t, testruns.Sample)
	want := []string{"_journal/start.json", "samples/run_epoch_1.json", "_journal/summaries/1.json", "summaries.json", "header.json"}
	if !slices.Equal(names, want) {
		t.Errorf("the files are %q", names)
	}
	if h.Version != 2 || h.Status != "success" || !strings.HasPrefix(s.Input, "Find out whether") {
		t.Errorf("the header is %+v, the input %q", h, s.Input)
	}
	if u := h.Stats.Usage["model-large"]; u.Input != 8400 || u.Total != 8400+910+3600 {
		t.Errorf("the usage is %+v", u)
	}
	if !slices.IsSortedFunc(s.Events, func(a, b inspectEvent) int { return strings.Compare(a.Timestamp, b.Timestamp) }) {
		t.Error("the events are not in the order of their times")
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		write           func(string) (*runs.Run, error)
		status, message string
	}{
		{testruns.Empty, "success", ""},
		{testruns.Stopped, "cancelled", ""},
		{testruns.Failed, "error", "the agent's language model refused the key"},
		{testruns.Interrupted, "error", "its log has no end"},
	} {
		_, h, s := written(t, c.write)
		if h.Status != c.status || (h.Error == nil) != (c.message == "") || (s.Error == nil) != (h.Error == nil) {
			t.Errorf("the status is %s, its error %v", h.Status, h.Error)
		} else if h.Error != nil && !strings.Contains(h.Error.Message, c.message) {
			t.Errorf("the error is %q", h.Error.Message)
		}
	}
}

func TestMessages(t *testing.T) {
	_, s := custom(t, func(r *testruns.Run) {
		r.Say("agent_thought_chunk", "hm")
		r.Say("agent_message_chunk", "I call two")
		r.Update("tool_call", map[string]any{"toolCallId": "a", "title": "first", "rawInput": map[string]any{"x": 1}})
		r.Update("tool_call", map[string]any{"toolCallId": "b", "title": "second", "rawInput": "text"})
		r.Update("tool_call_update", map[string]any{"toolCallId": "a", "status": "failed", "rawOutput": map[string]any{"why": "no"}})
		r.Update("tool_call_update", map[string]any{"toolCallId": "b", "status": "completed", "rawOutput": "yes"})
		r.Tool("c", "third", nil, "later")
		r.Say("agent_message_chunk", "done")
	})
	var got []string
	for _, m := range s.Messages {
		text := m.Role + " " + m.ToolCallID
		for _, c := range m.ToolCalls {
			text += c.ID + c.Function
		}
		got = append(got, text)
	}
	want := []string{"assistant afirstbsecond", "tool a", "tool b", "assistant cthird", "tool c", "assistant "}
	if !slices.Equal(got, want) {
		t.Errorf("the messages are %q, not %q", got, want)
	}
	if m := s.Messages[1]; m.Error == nil || string(m.Content) != `"{\"why\":\"no\"}"` {
		t.Errorf("the answer of a failed tool is %s %v", m.Content, m.Error)
	}
	if !strings.Contains(string(s.Messages[0].Content), `"reasoning":"hm"`) {
		t.Errorf("the thought is missing: %s", s.Messages[0].Content)
	}
	if in := tools(s)["b"].Arguments; in["input"] != "text" {
		t.Errorf("the arguments are %v", in)
	}
}

func TestCallsOfFunctions(t *testing.T) {
	_, s := custom(t, func(r *testruns.Run) {
		for id, state := range map[string]protocol.CallState{"ok": protocol.CallDone, "no": record.Refused, "cut": protocol.CallWasCut, "bad": protocol.CallFailed} {
			e := record.Entry{ID: id, Service: "lab", Function: "f", State: state, CodeHash: "sha256:1", Seconds: 2}
			if id == "bad" {
				e.Error = &protocol.CallError{Code: protocol.CallRaised, Type: "ValueError", Message: "x"}
			}
			r.Call(e, `{"args":[1],"kwargs":{"layer":3}}`, `{"rate": 0.5}`)
		}
		r.Call(record.Entry{ID: "large", Service: "lab", Function: "f", State: protocol.CallDone}, "", `"`+strings.Repeat("x", 2<<20)+`"`)
	})
	all := tools(s)
	ok := all["ok"]
	if ok.Function != "lab.f" || ok.Arguments["layer"] != 3.0 || ok.Result != `{"rate":0.5}` || ok.Error != nil {
		t.Errorf("the event of a call is %+v", ok)
	}
	if seer, _ := ok.Metadata["seer"].(map[string]any); seer["code_hash"] != "sha256:1" || ok.Metadata["call"] != "ok" {
		t.Errorf("the metadata of a call is %v", ok.Metadata)
	}
	for id, want := range map[string]string{"no": "limit", "cut": "cancelled", "bad": "unknown"} {
		if e := all[id].Error; e == nil || e.Type != want {
			t.Errorf("the error of the call %s is %v, not of the type %s", id, e, want)
		}
	}
	if r := all["large"].Result; !strings.HasPrefix(r, "[not here; see record/bodies/") {
		t.Errorf("the result of 2 MiB is %.80s", r)
	}
}

func TestDollarsAndUnknownThings(t *testing.T) {
	h, s := custom(t, func(r *testruns.Run) {
		r.File(runs.ResolvedName, []byte(`{"sandbox": {"gpu": "H100"}}`))
		r.Send(event.ModelRequest{Number: 1, Model: "m", Input: 10, Cost: 0.5, Total: 0.5}, event.ModelRequest{Number: 2, Input: 5, Cost: 0.25, Total: 0.75, Model: "m"})
		r.Update("new_kind", map[string]any{"text": "x"})
	})
	if u := h.Stats.Usage["m"]; u.Cost != 0.75 || u.Input != 15 {
		t.Errorf("the usage is %+v", u)
	}
	found := map[string]map[string]any{}
	for _, e := range s.Events {
		if e.Event == "info" {
			found[e.Source] = e.Data
		}
	}
	if found["seer agent.model_request"]["total_usd"] != 0.75 || found["seer run.sandbox"]["gpu"] != "H100" || found["seer run.ended"]["sandbox_usd"] != 0.41 {
		t.Errorf("the info events are %v", found)
	}
	if text, _ := found["seer agent.other"]["text"].(string); !strings.Contains(text, "new_kind") {
		t.Errorf("an unknown update is %q", text)
	}
}

func TestHostileRunsHaveLogs(t *testing.T) {
	_, h, s := written(t, testruns.Hostile)
	if h.Status != "error" || len(s.Events) < 10 {
		t.Errorf("the log has the status %s and %d events", h.Status, len(s.Events))
	}
	for _, m := range s.Messages {
		if len(m.Content) > 9<<20 {
			t.Errorf("a message has %d bytes", len(m.Content))
		}
	}
}
