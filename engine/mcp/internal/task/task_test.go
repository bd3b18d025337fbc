package task

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTrackerTellsOfChanges(t *testing.T) {
	tr := NewTracker(time.Now().Add(-time.Minute))
	changed := tr.Changed()
	tr.Update(func() { tr.Screen.Write("a line\nand a part") })
	<-changed
	if s := tr.State(); s.Line != "and a part" {
		t.Errorf("the last line is %q", s.Line)
	}
	if tr.Ended() {
		t.Error("it has ended before its end")
	}
	changed = tr.Changed()
	tr.End(func() {})
	<-changed
	<-tr.Done()
	if text := tr.DrainOutput(); text != "a line\nand a part\n" {
		t.Errorf("it printed %q", text)
	}
	var took, later time.Duration
	tr.View(func() { took = tr.Elapsed() })
	tr.View(func() { later = tr.Elapsed() })
	if took < time.Minute || took != later {
		t.Errorf("it took %v, and a moment later %v", took, later)
	}
}

func TestWait(t *testing.T) {
	tr, req := NewTracker(time.Now()), &mcp.CallToolRequest{}
	if Wait(t.Context(), req, "x", tr, tr.Done(), 0) {
		t.Error("what runs has ended")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if Wait(cancelled, req, "x", tr, tr.Done(), time.Hour) || !Cancelled(cancelled) {
		t.Error("the request was not cancelled")
	}
	gone, lose := context.WithCancelCause(t.Context())
	lose(errors.New("the connection broke"))
	if Cancelled(gone) || Cancelled(t.Context()) {
		t.Error("a lost client, or one that waits, counts as one that cancelled")
	}
	tr.End(func() {})
	if !Wait(cancelled, req, "x", tr, tr.Done(), 0) {
		t.Error("what has ended runs")
	}
}

func TestSetForgetsTheOldestThatEnded(t *testing.T) {
	s := Set[int]{Keep: 2}
	for i, id := range []string{"a", "b", "c", "d"} {
		s.Put(id, i)
	}
	if got := s.GetOrPut("a", func() int { return 9 }); got != 0 {
		t.Errorf("a is %d", got)
	}
	for _, id := range []string{"b", "a", "c"} {
		s.Ended(id)
	}
	if _, there := s.Get("b"); there || len(s.All()) != 3 {
		t.Errorf("b is there: %v, and %d in all", there, len(s.All()))
	}
	s.Put("a", 5) // it is followed again, and runs
	for _, id := range []string{"d", "c"} {
		s.Ended(id)
	}
	if got, there := s.Get("a"); !there || got != 5 {
		t.Errorf("a is %d, %v", got, there)
	}
}
