package fakemodal

import (
	"testing"
	"time"
)

// TestAnEventComesBeforeItsResult: whoever waits for a build and then counts the events
// finds it among them.
func TestAnEventComesBeforeItsResult(t *testing.T) {
	c := New(Options{Pace: time.Nanosecond})
	im := &image{id: "im-1", steps: []string{"FROM debian"}, changed: make(chan struct{})}
	c.events.mu.Lock() // nothing can be recorded
	c.work.Add(1)
	go c.build(im)
	known := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return im.result != nil
	}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) && !known(); {
		time.Sleep(time.Millisecond)
	}
	if known() {
		t.Error("the result is known, and the event is not there")
	}
	c.events.mu.Unlock()
	c.work.Wait()
	if !known() || len(c.Events()) != 1 {
		t.Errorf("in the end: %v", c.Events())
	}
}
