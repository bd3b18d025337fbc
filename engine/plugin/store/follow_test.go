package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFollowGivesWhatIsNew(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w := newWorld(t)
	if err := w.append("provider-tiny", []Event{eventOf(request(1, "/old"))}); err != nil {
		t.Fatal(err)
	}
	r := w.open(nil).NewRecorder()
	defer r.Close()
	go func() {
		for i := 0; ctx.Err() == nil; i++ { // until somebody has seen one
			r.Record(request(i, "/m"))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	stop, n := errors.New("seen enough"), 0
	err := w.Follow(ctx, "", func(e Event) error {
		if e.Path != "/m" {
			t.Errorf("%+v", e)
		}
		if n++; n == 5 {
			return stop
		}
		return nil
	})
	if err != stop {
		t.Error(err)
	}
	if err := w.Follow(ctx, "../x", nil); err == nil {
		t.Error("a path for an id")
	}
}

func FuzzAudit(f *testing.F) {
	f.Add([]byte("{\"plugin\":\"a\"}\n{\"plugin\":\"b\",\"refused\":true}\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 0
		if err := readSegment(path, func(Event) { whole++ }); err != nil {
			t.Fatal(err)
		}
		if err := appendLines(path, []byte("{\"plugin\":\"mine\"}\n")); err != nil {
			t.Fatal(err)
		}
		after, mine := 0, 0
		if err := readSegment(path, func(e Event) {
			after++
			if e.Plugin == "mine" {
				mine++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if after != whole+1 || mine == 0 {
			t.Fatalf("%d events, %d after one more, %d mine", whole, after, mine)
		}
	})
}
