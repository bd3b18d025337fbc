package term_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
)

// TestAgentInALog: messages go to stdout, each tool call is one line of stderr, and text of a
// stranger has no orders to the terminal on stderr.
func TestAgentInALog(t *testing.T) {
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	out, errs := file("out"), file("err")
	terminal := term.New(os.Stdin, out, errs)
	terminal.Configure(term.Options{})
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	show := func(after time.Duration, d event.Data) {
		terminal.Progress(engine.Event{Time: began.Add(after), Type: event.TypeOf(d), Data: d})
	}
	update := func(after time.Duration, fields map[string]any) { show(after, event.AgentUpdate{Update: fields}) }
	say := func(text string) {
		update(0, map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text}})
	}
	say("I ")
	say("look.")
	update(0, map[string]any{"sessionUpdate": "agent_thought_chunk", "content": map[string]any{"type": "text", "text": "hm"}})
	update(0, map[string]any{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Bash\x1b[2J", "rawInput": map[string]any{"command": "ls\nrm"}})
	update(time.Second, map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress"})
	update(2500*time.Millisecond, map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"})
	show(0, event.ModelRequest{Number: 1, Total: 0.5})
	say("Done.\n")
	show(0, event.AgentTurnEnded{Reason: "error", Error: "no money"})
	read := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := read(out); got != "I look.\nDone.\n" {
		t.Errorf("stdout: %q", got)
	}
	if got := read(errs); got != "failed: Bash\\x1b[2J ls … 2.5s\nwarning: the agent's turn has ended: error: no money\n" || strings.Contains(got, "\x1b") {
		t.Errorf("stderr: %q", got)
	}
}
