package runs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
)

// line is a line of a log.
func line(seq int, kind, data string) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T12:00:00Z","run":"run-1","source":"engine","type":"%s","data":%s}`+"\n", seq, kind, data)
}

// blob writes a blob into the folder of a run and returns its hash.
func blob(t testing.TB, dir, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	name := filepath.Join(dir, runs.BlobsName, hash[:2], hash)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	return hash
}

// outputs are the lines that the agent of a run has printed, with the faults beside them.
func outputs(t testing.TB, r *runs.Run) (texts []string, faults []string) {
	t.Helper()
	for e, err := range r.Events() {
		var fault *runs.Fault
		if errors.As(err, &fault) {
			faults = append(faults, fault.Error())
		} else if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.Output); ok {
			texts = append(texts, d.Line)
		}
	}
	return texts, faults
}

func TestHostileLines(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	log := line(1, "run.started", `{"experiment":"\u001b]0;title\u0007<script>"}`) +
		line(2, "agent.output", `{"line":"`+strings.Repeat("x", 100<<20)+`"}`) +
		"\n{}\nnull\n[]\n{\"seq\":\n\x00\xff\n" +
		line(3, "agent.update", `{"update":{"sessionUpdate":"plan","entries":`+deep+`}}`) +
		line(4, "future.type", `{"x":1}`) +
		line(5, "agent.update", `{"update":7}`) +
		line(6, "agent.update", `{"update":{"sessionUpdate":"tool_call","toolCallId":[],"title":{},"content":"text","rawInput":null}}`) +
		line(7, "agent.update", `{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"still here"}}}`) +
		line(8, "agent.model_request", `{"input_tokens":9223372036854775807,"cost_usd":1e308}`) +
		line(9, "agent.model_request", `{"input_tokens":9223372036854775807,"cost_usd":1e308}`) +
		line(9000, "agent.output", `{"line":"last"}`) +
		strings.Replace(line(9001, "agent.output", `{"line":"late"}`), "2026-01-02T12:00:00Z", "9999-12-31T23:59:59-09:00", 1) +
		line(9002, "run.ended", `{"state":"victorious","exit_code":3}`)
	r := open(t, written(t, []byte(log)))
	if r.State != runs.Failed || !strings.Contains(r.Error, "victorious") || r.Lost != 8992 || r.Faults != 8 || *r.ExitCode != 3 {
		t.Errorf("summary %+v", r.Summary)
	}
	if _, err := json.Marshal(r.Summary); err != nil {
		t.Error(err)
	}
	texts, faults := outputs(t, r)
	if strings.Join(texts, ",") != "last" || len(faults) != 10 || !strings.HasPrefix(faults[0], "line 2 of events.jsonl: it is longer than") {
		t.Errorf("outputs %q, faults %q", texts, faults)
	}
	items, err := r.Transcript()
	if err != nil || len(items) != 2 || items[0].Kind != runs.ItemTool || items[1].Text != "still here" {
		t.Errorf("transcript %+v, %v", items, err)
	}
}

func TestHostileBlobs(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	good, changed, linked := blob(t, dir, "good"), blob(t, dir, "true"), blob(t, dir, "secret")
	ref := func(hash string) string { return `{"$blob":"` + hash + `","bytes":4}` }
	whole := func(hash string, bytes int) string {
		return fmt.Sprintf(`{"$blob":"%s","bytes":%d,"json":true}`, hash, bytes)
	}
	inner := `{"line":` + ref(good) + `}`
	nested := blob(t, dir, inner)
	outer := whole(nested, len(inner))
	bomb := blob(t, dir, outer)
	huge := blob(t, dir, strings.Repeat("x", 1<<20))
	place := func(hash string) string { return filepath.Join(dir, runs.BlobsName, hash[:2], hash) }
	if err := errors.Join(os.WriteFile(place(changed), []byte("evil"), 0o600), os.Remove(place(linked)), os.Symlink(secret, place(linked))); err != nil {
		t.Fatal(err)
	}
	log := line(1, "run.started", `{}`)
	for i, data := range []string{
		`{"line":` + ref(good) + `}`, `{"line":` + ref(changed) + `}`, `{"line":` + ref(linked) + `}`, `{"line":` + ref(strings.Repeat("0", 64)) + `}`,
		`{"line":` + ref("../../../secret") + `}`, `{"line":` + ref(strings.Repeat("../", 21)+"x") + `}`, `{"line":{"$blob":7}}`,
		whole(nested, len(inner)), whole(bomb, len(outer)), `{"line":` + whole(nested, len(inner)) + `}`, `{"line":` + whole(huge, 4) + `}`,
		`{"line":` + strings.Replace(ref(good), `"bytes":4`, `"bytes":1e30`, 1) + `}`,
	} {
		log += line(i+2, "agent.output", data)
	}
	// Much more than anything may take of memory.
	log += line(100, "agent.update", `{"update":{"sessionUpdate":"x","all":[`+strings.TrimSuffix(strings.Repeat(`{"$blob":"`+huge+`","bytes":1048576},`, 300), ",")+`]}}`)
	if err := os.WriteFile(filepath.Join(dir, runs.EventsName), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	texts, faults := outputs(t, r)
	want := []string{"good", "[4 bytes cannot be shown: the blob " + changed + " was changed", "[4 bytes cannot be shown: the blob cannot be read", "[4 bytes cannot be shown: the blob cannot be read",
		"[4 bytes cannot be shown: \"../", "[4 bytes cannot be shown: \"../", "good", `{"line":{"$blob"`, "[4 bytes cannot be shown: the blob cannot be read", "[0 bytes cannot"}
	if len(texts) != len(want) || len(faults) != 10 {
		t.Fatalf("%d texts %q, %d faults %q", len(texts), texts, len(faults), faults)
	}
	for i := range want {
		if !strings.HasPrefix(texts[i], want[i]) || strings.Contains(texts[i], "secret") && !strings.Contains(texts[i], "..") {
			t.Errorf("text %d: %q, want %q", i, texts[i], want[i])
		}
	}
	if _, err := r.Transcript(); err != nil {
		t.Error(err)
	}
}

// Nothing outside of the folder is read through a link in it.
func TestHostileLinks(t *testing.T) {
	outside := written(t, []byte(line(1, "run.started", `{}`)))
	if err := errors.Join(os.MkdirAll(filepath.Join(outside, "record"), 0o700), os.WriteFile(filepath.Join(outside, "record", "calls.jsonl"), []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "runs", "one")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, runs.EventsName), filepath.Join(dir, runs.EventsName)); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Open(dir); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("a log that is a link: %v is %s", err, errdefs.KindOf(err))
	}
	if all, err := runs.List(filepath.Dir(dir)); err != nil || len(all) != 0 {
		t.Errorf("listed: %v, %v", all, err)
	}
	dir = written(t, []byte(line(1, "run.started", `{}`)))
	for _, name := range []string{runs.RecordName, runs.PromptName} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, dir)
	if _, err := r.Calls(); err == nil {
		t.Error("calls are read through a link")
	}
	if _, err := r.ReadFile(runs.PromptName, 100); err == nil {
		t.Error("a file is read through a link")
	}
	if _, err := r.ReadFile("../x", 100); err == nil {
		t.Error("a file outside is read")
	}
	if _, err := runs.Diff(r, r); err == nil {
		t.Error("compared through links")
	}
	if _, err := runs.Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is no run: %v", err)
	}
	if _, err := runs.Open(written(t, []byte("{}\n"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log without events: %v", err)
	}
}

// large writes the log of a run with so many messages, each with a tool call.
func large(t testing.TB, messages int) string {
	t.Helper()
	var log strings.Builder
	log.WriteString(line(1, "run.started", `{"experiment":"large"}`))
	answer := `"` + strings.Repeat("0.123456 ", 400) + `"`
	for i := range messages {
		n := 2 + 3*i
		log.WriteString(line(n, "agent.update", fmt.Sprintf(`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"message %d"}},"native":%s}`, i, answer)))
		log.WriteString(line(n+1, "agent.update", fmt.Sprintf(`{"update":{"sessionUpdate":"tool_call","toolCallId":"t%d","title":"score"},"native":%s}`, i, answer)))
		log.WriteString(line(n+2, "agent.update", fmt.Sprintf(`{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t%d","status":"completed","rawOutput":%s},"native":%s}`, i, answer, answer)))
	}
	log.WriteString(line(2+3*messages, "run.ended", `{"state":"finished"}`))
	return written(t, []byte(log.String()))
}

func TestLargeRun(t *testing.T) {
	dir := large(t, 5000)
	took := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var r *runs.Run
	if bytes := took(func() { r = open(t, dir) }); bytes > 8<<20 {
		t.Errorf("opening it took %d bytes of memory", bytes)
	}
	var items []runs.Item
	var err error
	if bytes := took(func() { items, err = r.Transcript() }); bytes > 1<<30 {
		t.Errorf("its transcript took %d bytes of memory", bytes)
	}
	if err != nil || len(items) != 10_000 || r.EventCount != 15_002 || items[9_999].Tool.Status != "completed" {
		t.Errorf("%d items of %d events, %v", len(items), r.EventCount, err)
	}
}

func BenchmarkOpen5000(b *testing.B) {
	dir := large(b, 5000)
	for b.Loop() {
		open(b, dir)
	}
}

func BenchmarkTranscript5000(b *testing.B) {
	r := open(b, large(b, 5000))
	for b.Loop() {
		if _, err := r.Transcript(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	_, send := create(b, b.TempDir(), "run-1", noon)
	for b.Loop() {
		send(text("agent_message_chunk", "a message of some words, as agents write them"))
	}
}

// A log is read to its end, whatever is in it, and what is read can be written.
func FuzzLog(f *testing.F) {
	f.Add([]byte(line(1, "run.started", `{}`) + line(2, "agent.update", `{"update":{"sessionUpdate":"tool_call","toolCallId":"a","content":[{"type":"content","content":{"type":"text","text":"x"}}]}}`)))
	f.Add([]byte(line(1, "agent.update", `{"update":{"sessionUpdate":"plan","entries":[{"content":"x"}]}}`) + line(3, "run.ended", `{"state":"finished","seconds":1}`)))
	f.Add([]byte(line(1, "agent.output", `{"line":{"$blob":"`+strings.Repeat("0", 64)+`","bytes":1}}`) + line(2, "agent.turn_ended", `{"reason":"error","error":{"$blob":1}}`)))
	f.Add([]byte(line(1, "agent.update", `{"$blob":"`+strings.Repeat("0", 64)+`","json":true}`) + "{}\n"))
	f.Add([]byte(`{"type":"run.artifact","data":{"path":"x"},"run":"r","time":"2026-01-02T12:00:00+09:00","seq":-5}` + "\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, log []byte) {
		if err := os.WriteFile(filepath.Join(dir, runs.EventsName), log, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := runs.Open(dir)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r.Summary); err != nil {
			t.Errorf("the summary is no JSON: %v", err)
		}
		for e, err := range r.Events() {
			if err == nil {
				if _, err := json.Marshal(e); err != nil {
					t.Errorf("an event is no JSON: %v", err)
				}
			}
		}
		items, err := r.Transcript()
		if err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(items); err != nil {
			t.Errorf("the transcript is no JSON: %v", err)
		}
	})
}
