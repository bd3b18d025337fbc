package runs_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// create makes the folder of a run; its events have one second between them.
func create(t testing.TB, root, id string, start time.Time) (*runs.Folder, func(...event.Data)) {
	t.Helper()
	f, err := runs.Create(root, "Probe it!", id, start)
	if err != nil {
		t.Fatal(err)
	}
	at := start
	report := event.NewReporter(id, event.SourceEngine, func() time.Time { at = at.Add(time.Second); return at }, f.Append)
	return f, func(all ...event.Data) {
		for _, d := range all {
			report.Send(d)
		}
	}
}

func update(kind string, fields map[string]any) event.AgentUpdate {
	u := map[string]any{"sessionUpdate": kind}
	for key, v := range fields {
		u[key] = v
	}
	return event.AgentUpdate{Update: u, Native: `{"type":"native"}`}
}

func text(kind, text string) event.AgentUpdate {
	return update(kind, map[string]any{"content": map[string]any{"type": "text", "text": text}})
}

// small are the events of a run with everything that a summary has.
func small() []event.Data {
	return []event.Data{
		event.RunStarted{Experiment: "probe", File: "/x/seer.yaml", Folder: "/x/runs/probe", Version: "1.2.3"},
		event.SandboxReady{Sandbox: "sb-1"},
		event.AgentProgram{Provider: "claude", Path: "/bin/claude", Version: "2.1", SHA256: "ab"},
		event.AgentStarted{Isolation: "bubblewrap"},
		text("agent_message_chunk", "I look "), text("agent_message_chunk", "at it."),
		event.ModelRequest{Number: 1, Model: "m-1", Input: 10, Output: 5, CacheRead: 3, Cost: 0.25, Total: 0.25},
		update("tool_call", map[string]any{"toolCallId": "t1", "title": "score", "kind": "execute", "status": "pending", "rawInput": map[string]any{"layer": 3}}),
		update("tool_call_update", map[string]any{"toolCallId": "t1", "status": "completed", "content": []any{
			map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "0.75"}}}, "rawOutput": map[string]any{"ok": true}}),
		text("agent_thought_chunk", "so"),
		text("agent_message_chunk", "It is 0.75."),
		event.AgentTurnEnded{Reason: "end_turn"},
		event.Copied{Stage: event.StageUpload, Bytes: 1},
		event.AgentFinished{ExitCode: 0},
		event.RunArtifact{Path: "outputs/a.txt", Kind: "output", SHA256: "00", Bytes: 1},
		event.RunArtifact{Path: "outputs/a.txt", Kind: "output", SHA256: "11", Bytes: 2},
		event.RunEnded{State: "finished", Seconds: 20, Calls: 1, Files: 1, Cost: 0.5, ModelCost: 0.25},
	}
}

// TestMessagesOfTurns: chunks without a messageId are one message only if they are of one kind and
// one turn.
func TestMessagesOfTurns(t *testing.T) {
	const message, thought = "agent_message_chunk", "agent_thought_chunk"
	for _, between := range []event.Data{
		text(thought, "t"), event.AgentTurnEnded{Reason: "end_turn"}, event.AgentProgram{Provider: "x"}, update("usage_update", map[string]any{}),
	} {
		f, send := create(t, t.TempDir(), "run-1", noon)
		send(text(message, "a"), event.ModelRequest{Number: 1}, text(message, "b"), between, text(message, "c"))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		items, err := open(t, f.Path()).Transcript()
		if err != nil || items[0].Text != "ab" || items[len(items)-1].Text != "c" {
			t.Errorf("with %T between: %+v, %v", between, items, err)
		}
	}
}

func TestRun(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	f, send := create(t, root, "run-0123456789abcdef", noon)
	if name := filepath.Base(f.Path()); name != "Probe-it-20260102-120000-abcdef" {
		t.Errorf("the folder is %s", name)
	}
	events := small()
	send(events[:5]...)
	if r := open(t, filepath.Join(root, "latest")); r.State != runs.Running || r.ExitCode != nil {
		t.Errorf("while it runs: %+v", r.Summary)
	}
	send(events[5:]...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, zero := open(t, f.Path()), 0
	want := runs.Summary{
		Dir: f.Path(), ID: "run-0123456789abcdef", Experiment: "probe", File: "/x/seer.yaml", Version: "1.2.3",
		State: runs.Finished, Started: noon.Add(time.Second), Ended: r.Last, Last: noon.Add(17 * time.Second), Seconds: 20, ExitCode: &zero,
		Provider: "claude", Model: "m-1", Program: "/bin/claude", ProgramVersion: "2.1", ProgramSHA256: "ab", Sandbox: "sb-1",
		Calls: 1, Files: 1, Cost: 0.5, ModelCost: 0.25, Requests: 1, Input: 10, Output: 5, CacheRead: 3, EventCount: 16,
	}
	if !reflect.DeepEqual(r.Summary, want) {
		t.Errorf("summary\n%+v, want\n%+v", r.Summary, want)
	}
	if a := r.Artifacts(); len(a) != 1 || a[0].SHA256 != "11" {
		t.Errorf("artifacts %+v", a)
	}
	var kept []event.Data
	for e, err := range r.Events() {
		if err != nil {
			t.Error(err)
		}
		kept = append(kept, e.Data)
	}
	if len(kept) != 16 || !reflect.DeepEqual(kept[0], events[0]) || kept[15] != events[16] {
		t.Errorf("%d events: %+v", len(kept), kept)
	}
	if calls, err := r.Calls(); err != nil || calls != nil {
		t.Errorf("calls of a run without a record: %v, %v", calls, err)
	}
}

func open(t testing.TB, dir string) *runs.Run {
	t.Helper()
	r, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTranscript(t *testing.T) {
	f, send := create(t, t.TempDir(), "run-0123456789abcdef", noon)
	send(small()...)
	send(update("plan", map[string]any{"entries": []any{map[string]any{"content": "look", "status": "pending"}}}),
		update("usage_update", nil),
		event.AgentUpdate{Update: map[string]any{"sessionUpdate": "unknown"}, Native: "{\"type\":\"system\"}"},
		// An ID that comes again after its call has ended.
		update("tool_call", map[string]any{"toolCallId": "t1", "title": "again"}),
		update("agent_message_chunk", map[string]any{"content": map[string]any{"type": "image", "mimeType": "image/png"}}))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	items, err := open(t, f.Path()).Transcript()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range items {
		line := i.Kind + "|" + i.Text
		if i.Tool != nil {
			line += strings.Join([]string{i.Tool.ID, i.Tool.Title, i.Tool.Kind, i.Tool.Status, i.Tool.Text}, ",")
		}
		for _, p := range i.Plan {
			line += p.Content + "," + p.Status
		}
		got = append(got, line)
	}
	want := []string{
		"agent_message|I look at it.", "tool_call|t1,score,execute,completed,0.75", "agent_thought|so", "agent_message|It is 0.75.", "turn_ended|end_turn",
		"plan|look,pending", `other|{"type":"system"}`, "tool_call|t1,again,,,", "agent_message|[image image/png]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	first, tool := items[0], items[1]
	if first.Seq != 5 || !first.Time.Equal(noon.Add(5*time.Second)) || !first.Ended.Equal(noon.Add(6*time.Second)) {
		t.Errorf("the message is event %d, from %s to %s", first.Seq, first.Time, first.Ended)
	}
	if !reflect.DeepEqual(tool.Tool.Input, map[string]any{"layer": json.Number("3")}) || !reflect.DeepEqual(tool.Tool.Output, map[string]any{"ok": true}) {
		t.Errorf("input %v, output %v", tool.Tool.Input, tool.Tool.Output)
	}
}

// Texts that are long, keys that look like those of a blob, and values that are deep come back.
func TestLongTexts(t *testing.T) {
	long, many := strings.Repeat("é\x1b[2J", 10_000), make([]any, 300_000)
	for i := range many {
		many[i] = "short"
	}
	var deep any = "bottom"
	for range 9_990 {
		deep = []any{deep}
	}
	given := map[string]any{
		"sessionUpdate": "tool_call", "toolCallId": "1", "rawInput": map[string]any{"long": long, "$blob": "x", "$$blob": []any{"y"}, "bytes": "z"},
	}
	f, send := create(t, t.TempDir(), "run-0123456789abcdef", noon)
	send(event.RunStarted{}, event.AgentUpdate{Update: given, Native: long}, event.AgentUpdate{Update: map[string]any{"many": many}}, event.AgentUpdate{Update: map[string]any{"deep": deep}})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(f.Path(), runs.EventsName))
	if err != nil || len(log) > 4<<10 {
		t.Errorf("the log has %d bytes, %v", len(log), err)
	}
	var all []event.AgentUpdate
	for e, err := range open(t, f.Path()).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := e.Data.(event.AgentUpdate); ok {
			all = append(all, u)
		}
	}
	if len(all) != 3 || !reflect.DeepEqual(all[0].Update, given) || all[0].Native != long || !reflect.DeepEqual(all[1].Update["many"], many) {
		t.Errorf("%d events, and not what was given", len(all))
	}
	levels := 0
	for v := all[2].Update["deep"]; ; levels++ {
		in, ok := v.([]any)
		if !ok {
			if inner, _ := v.(string); !strings.HasSuffix(strings.TrimRight(inner, "]"), `"bottom"`) {
				t.Errorf("below %d levels there is %.100q", levels, inner)
			}
			break
		}
		v = in[0]
	}
	items, err := open(t, f.Path()).Transcript()
	if in, _ := items[0].Tool.Input.(map[string]any); err != nil || in["long"] != long || in["$blob"] != "x" {
		t.Errorf("the transcript lacks the input, %v", err)
	}
}

func TestFind(t *testing.T) {
	root, state := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	var paths []string
	for i, id := range []string{"run-aa00000000000001", "run-aa00000000000002", "run-bb00000000000003"} {
		f, send := create(t, root, id, noon.Add(time.Duration(i)*time.Hour))
		send(small()...)
		if err := errors.Join(runs.Remember(state, f), f.Close()); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, f.Path())
	}
	for ref, want := range map[string]int{
		"run-aa00000000000001": 0, "aa00000000000002": 1, "run-b": 2, "b": 2, "latest": 2, filepath.Base(paths[0]): 0, paths[1]: 1, paths[1] + "/": 1,
	} {
		if r, err := runs.Find(ref, root); err != nil || r.Dir != paths[want] {
			t.Errorf("%s: %v, %v", ref, r, err)
		}
	}
	for ref, want := range map[string]string{"run-a": "several runs: run-aa00000000000001 (", "aa": "several runs", "run-": "no run", "": "none of the 3 runs", "nope": "no run", "./nope": "no such file"} {
		if _, err := runs.Find(ref, root); errdefs.KindOf(err) != errdefs.KindNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v is %s", ref, err, errdefs.KindOf(err))
		}
	}
	if err := os.RemoveAll(paths[0]); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is to be dropped
		if got, err := runs.Remembered(state); err != nil || !reflect.DeepEqual(got, paths[1:]) {
			t.Errorf("remembered: %v, %v", got, err)
		}
	}
	all, err := runs.List(append([]string{root, filepath.Join(root, "none")}, paths[1:]...)...)
	if err != nil || len(all) != 2 || all[0].Dir != paths[2] || all[1].Dir != paths[1] {
		t.Errorf("list: %+v, %v", all, err)
	}
}

// TestRemoveAgain removes a run again whose removal has failed: it is still known by its ID.
func TestRemoveAgain(t *testing.T) {
	root := t.TempDir()
	f, send := create(t, root, "run-aa00000000000001", noon)
	send(small()...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(f.Path(), "outputs", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	outputs := filepath.Join(f.Path(), "outputs")
	err := runs.RemoveFolder(f.Path(), func(path string) error {
		if strings.HasPrefix(outputs, path) { // what can be removed of it goes, as in any order
			return errors.Join(os.RemoveAll(filepath.Join(path, runs.EventsName)), fs.ErrPermission)
		}
		return os.RemoveAll(path)
	})
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("the removal: %v", err)
	}
	r, err := runs.Find("run-aa00000000000001", root)
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.Remove(r); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRemove(t *testing.T) {
	root := t.TempDir()
	first, send := create(t, root, "run-aa00000000000001", noon)
	send(small()...)
	second, sendSecond := create(t, root, "run-aa00000000000002", noon)
	sendSecond(small()[0])
	if err := runs.Remove(open(t, second.Path())); errdefs.KindOf(err) != errdefs.KindConflict {
		t.Errorf("a run that goes on: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if err := runs.Remove(open(t, second.Path())); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(root, "latest")); to != filepath.Base(first.Path()) {
		t.Errorf("latest leads to %q, %v", to, err)
	}
	// A folder with a log is not always one of a run only.
	other := filepath.Join(root, "home")
	if err := os.Rename(first.Path(), other); err != nil {
		t.Fatal(err)
	}
	if err := runs.Remove(open(t, other)); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("a folder with another name: %v", err)
	}
	if err := os.Rename(other, first.Path()); err != nil {
		t.Fatal(err)
	}
	if err := runs.Remove(open(t, first.Path())); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := runs.Open(first.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened after it was removed: %v", err)
	}
}
