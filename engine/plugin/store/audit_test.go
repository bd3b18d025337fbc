package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func request(minute int, path string) egress.Audit {
	return egress.Audit{Plugin: "provider-tiny", Destination: "https://api.tiny.example", Method: "GET", Path: path, Status: 200,
		Permission: "http GET https://api.tiny.example " + path, Time: noon.Add(time.Duration(minute) * time.Minute), Duration: time.Second}
}

func refusal(minute int, path, why string) egress.Audit {
	a := request(minute, path)
	a.Permission, a.Refused, a.Error, a.Status = "", true, why, 0
	return a
}

func TestAuditTellsWhatWasDone(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	r := w.NewRecorder()
	failed := request(2, "/m")
	failed.Error, failed.Status = "took too long", 0
	for _, a := range []egress.Audit{request(1, "/m"), request(5, "/m"), failed, request(3, "/n"),
		refusal(4, "/keys", "not granted"), refusal(6, "/keys", "the manifest does not allow it"), refusal(7, "/x", "no")} {
		r.Record(a)
	}
	other := request(1, "/m")
	other.Plugin = "provider-other"
	r.Record(other)
	for _, id := range []string{"", "../x", "A"} { // no file is named after these
		other.Plugin = id
		r.Record(other)
	}
	r.Close()
	r.Close() // again does no harm
	asked := access.Make(getM, getN, "http GET https://api.tiny.example /never", "secret key K Authorization https://api.tiny.example",
		"capture tok /a.B/C 1 calls url:2 /a.B/D", "memory 512")
	got, err := w.open(nil).Report(ctx, "provider-tiny", asked)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Used) != 2 || got.Used[0].Permission != getM || got.Used[0].Count != 3 || got.Used[0].Failed != 1 ||
		!got.Used[0].First.Equal(noon.Add(time.Minute)) || !got.Used[0].Last.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("used: %+v", got.Used)
	}
	if len(got.Never) != 2 || len(got.Unseen) != 2 {
		t.Errorf("never %q, unseen %q", got.Never, got.Unseen)
	}
	if len(got.Refused) != 2 || got.Refused[0].Count != 2 || got.Refused[0].Request != "GET https://api.tiny.example/keys" || got.Refused[0].Why != "the manifest does not allow it" {
		t.Errorf("refused: %+v", got.Refused)
	}
	none, err := w.Report(ctx, "provider-none", access.Make(getM))
	if err != nil || len(none.Used) != 0 || len(none.Never) != 1 {
		t.Errorf("%+v, %v", none, err)
	}
	if entries, _ := os.ReadDir(w.audits); len(entries) != 2 {
		t.Errorf("files of %v", entries)
	}
}

// What follows a ? may be a credential, and a plugin says what it likes.
func TestAuditHoldsNoQueries(t *testing.T) {
	w := newWorld(t)
	r := w.NewRecorder()
	a := refusal(1, "/m?key=hunter2", `GET "https://api.tiny.example/m?key=hunter2": failed, see https://api.tiny.example/x?key=hunter2. Why?`)
	r.Record(a)
	long := refusal(2, "/"+strings.Repeat("x", 1<<20), strings.Repeat("ü", 1<<20)+"\nforged line\x1b[2J")
	r.Record(long)
	r.Close()
	text, err := os.ReadFile(filepath.Join(w.auditOf("provider-tiny"), "000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("hunter2")) || !bytes.Contains(text, []byte("Why?")) {
		t.Errorf("%s", text[:min(len(text), 2000)])
	}
	if n := bytes.Count(text, []byte("\n")); n != 2 || len(text) > 8<<10 || bytes.Contains(text, []byte("\x1b")) {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
	info, err := os.Stat(filepath.Join(w.auditOf("provider-tiny"), "000001.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Two programs write, a file is full, its counts are made, and somebody is killed at
// some step: no request is counted twice and none is forgotten.
func TestAuditOutlivesItsFiles(t *testing.T) {
	const each = 2000
	w, steps := newWorld(t), 0
	var mu sync.Mutex
	s := w.open(func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if steps++; strings.HasPrefix(name, "audit") && steps%3 == 0 {
			return errors.New("killed before " + name)
		}
		return nil
	})
	pad := strings.Repeat("x", 900)
	var wg sync.WaitGroup
	for p := range 2 {
		store := s
		if p == 1 {
			store = w.open(nil)
		}
		wg.Go(func() {
			for i := 0; i < each; i += 100 {
				var batch []Event
				for j := range 100 {
					e := eventOf(request(i+j, "/m"))
					e.Error = pad + pad + pad + pad
					batch = append(batch, e)
				}
				if err := store.append("provider-tiny", batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// Two half lines: of a writer that was killed, and a stranger's.
	numbers, err := segments(w.auditOf("provider-tiny"), 0)
	if err != nil || len(numbers) < 2 || len(numbers) > segmentsKept+2 {
		t.Fatalf("%v, %v", numbers, err)
	}
	last := segment(w.auditOf("provider-tiny"), numbers[len(numbers)-1])
	if err := appendTo(last, "\x00{}\n{\"time\":"); err != nil {
		t.Fatal(err)
	}
	if err := w.append("provider-tiny", []Event{eventOf(request(each, "/m"))}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Report(context.Background(), "provider-tiny", nil)
	if err != nil || len(got.Used) != 1 || got.Used[0].Count != 2*each+1 || !got.Used[0].First.Equal(noon) {
		t.Errorf("%+v, %v", got.Used, err)
	}
}

func TestAuditOfAPluginThatTriesEverything(t *testing.T) {
	w := newWorld(t)
	var batch []Event
	for i := range 3 * maxRefusals {
		batch = append(batch, eventOf(refusal(i, fmt.Sprintf("/%d", i), "no")))
	}
	if err := w.append("provider-tiny", batch); err != nil {
		t.Fatal(err)
	}
	got, err := w.Report(context.Background(), "provider-tiny", nil)
	if err != nil || len(got.Refused) != maxRefusals+1 || got.Refused[0].Request != otherwise || got.Refused[0].Count != 2*maxRefusals {
		t.Errorf("%d kinds, first %+v, %v", len(got.Refused), got.Refused[0], err)
	}
}

// A disk that cannot be written to loses lines and stops nobody.
func TestAuditNeverStopsARequest(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer
	w.log = hclog.New(&hclog.LoggerOptions{Output: &out})
	w.write(w.auditOf("provider-tiny"), "a file where the folder should be", 0o600)
	r := w.NewRecorder()
	for i := range 3 {
		r.Record(request(i, "/m"))
	}
	r.Close()
	r.Record(request(4, "/m"))
	if r.Lost() != 4 {
		t.Errorf("lost %d", r.Lost())
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, w.audits) {
		t.Errorf("warned:\n%s", text)
	}
	// More than can be kept is lost, not waited for.
	w = newWorld(t)
	r = &Recorder{to: w.auditLog, wake: make(chan struct{}, 1)} // nobody writes
	for i := range maxWaiting + 10 {
		r.Record(request(i, "/m"))
	}
	if r.Lost() != 10 {
		t.Errorf("lost %d of too many", r.Lost())
	}
}

// A plugin that is refused ten thousand times in a moment does not hide what it did.
func TestRefusalsHideNothing(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	r := w.NewRecorder()
	for range 3 * maxWaiting {
		r.Record(refusal(1, "/noise", "no"))
	}
	r.Record(request(2, "/m"))
	r.Close()
	got, err := w.Report(ctx, "provider-tiny", access.Make(getM))
	if err != nil || len(got.Used) != 1 || got.Used[0].Count != 1 {
		t.Errorf("used: %+v, %v; %d lost", got.Used, err, r.Lost())
	}
	if r.Lost() == 0 {
		t.Error("nothing was lost: the test asks nothing")
	}
}
