package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
)

func at(second int64) func() time.Time { return func() time.Time { return time.Unix(second, 0) } }

// The events of an operation that is a part of a run are counted with those of the run.
func TestForward(t *testing.T) {
	var got []event.Event
	outer := event.NewReporter("run-1", event.SourceEngine, at(2), func(e event.Event) { got = append(got, e) })
	outer.Send(event.AgentStarted{})
	inner := event.NewReporter("", "other", at(1), outer.Forward)
	inner.Send(event.BootStarted{})
	inner.Copied(event.StageUpload, 1, 2)
	outer.Send(event.SandboxEnded{Sandbox: "sb-1"})
	want := []event.Event{
		{Seq: 1, Time: at(2)().UTC(), Run: "run-1", Source: event.SourceEngine, Type: "agent.started", Data: event.AgentStarted{}},
		{Seq: 2, Time: at(1)().UTC(), Run: "run-1", Source: "other", Type: "boot.started", Data: event.BootStarted{}},
		{Seq: 0, Time: at(1)().UTC(), Run: "run-1", Source: "other", Type: "upload.copied", Data: event.Copied{Stage: event.StageUpload, Bytes: 1, Total: 2}},
		{Seq: 3, Time: at(2)().UTC(), Run: "run-1", Source: event.SourceEngine, Type: "end.sandbox_ended", Data: event.SandboxEnded{Sandbox: "sb-1"}},
	}
	if len(got) != len(want) {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestNobodyIsTold(t *testing.T) {
	for _, r := range []event.Reporter{{}, event.NewReporter("", event.SourceEngine, at(1), nil)} {
		if r.Active() {
			t.Error("a reporter without a receiver is active")
		}
		r.Send(event.BootStarted{})
		r.Forward(event.Event{Data: event.BootStarted{}})
	}
}

// What a newer program has written is kept as it is.
func TestUnknownType(t *testing.T) {
	const text = `{"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","source":"agent","type":"agent.thought","data":{"text":"hm"}}`
	var e event.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(e); err != nil || string(back) != text {
		t.Errorf("%s, %v", back, err)
	}
	if said := eventtext.Sentence(e); said != `agent.thought {"text":"hm"}` || e.Stage() != event.StageAgent {
		t.Errorf("%q, stage %s", said, e.Stage())
	}
	for _, broken := range []string{`{"type":"boot.ready","data":{"sandbox":7}}`, `{"type":7}`, `[]`} {
		if err := json.Unmarshal([]byte(broken), &e); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}
