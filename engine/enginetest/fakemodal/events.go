package fakemodal

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// Event is something that happened in a cloud.
type Event struct {
	Time    time.Time
	Kind    string     // call, build, create, start, tunnels, end, snapshot
	Method  string     // of a call
	Code    codes.Code // of a call
	Machine string     // ID of the sandbox
	Text    string     // of an end: why; of a build and a snapshot: the image's ID
}

const maxEvents = 20_000

type eventLog struct {
	mu   sync.Mutex
	list []Event
}

// record comes before what has happened can be seen: whoever sees that finds the event.
func (c *Cloud) record(e Event) {
	e.Time = time.Now()
	l := &c.events
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == maxEvents {
		l.list = append(l.list[:0], l.list[maxEvents/2:]...)
	}
	l.list = append(l.list, e)
}

// Events are what has happened, oldest first: the last ten thousand at least.
func (c *Cloud) Events() []Event {
	c.events.mu.Lock()
	defer c.events.mu.Unlock()
	return slices.Clone(c.events.list)
}
