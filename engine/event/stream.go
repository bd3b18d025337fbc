package event

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
)

// Func receives events, one at a time and in the order of [Event].Seq. Nil is allowed
// wherever one is taken.
type Func func(Event)

// NewRun returns a new ID for a run: "run-" and 16 hexadecimal digits.
func NewRun() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return "run-" + hex.EncodeToString(id)
}

// Reporter sends the events of one run. The zero value tells nobody. Copies of a reporter
// send to the same run.
type Reporter struct {
	run    *run
	source string
}

type run struct {
	id  string
	now func() time.Time
	to  Func

	mu  sync.Mutex
	seq int64
}

// NewReporter reports the events of a run from a source. An empty run gets a new ID; to may
// be nil.
func NewReporter(id, source string, now func() time.Time, to Func) Reporter {
	if to == nil {
		return Reporter{}
	}
	if id == "" {
		id = NewRun()
	}
	return Reporter{&run{id: id, now: now, to: to}, source}
}

// Active reports whether anybody receives the events.
func (r Reporter) Active() bool { return r.run != nil }

// Send reports an event.
func (r Reporter) Send(data Data) {
	if r.run != nil {
		r.run.send(Event{Time: r.run.now().UTC(), Source: r.source, Type: TypeOf(data), Data: data})
	}
}

// Forward takes an event of another run, such as that of an operation which is a part of
// this run, into this one. It is a [Func].
func (r Reporter) Forward(e Event) {
	if r.run != nil {
		r.run.send(e)
	}
}

func (r *run) send(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Run, e.Seq = r.id, 0
	if e.Kind() != KindCopied {
		r.seq++
		e.Seq = r.seq
	}
	r.to(e)
}

// Output reports a line that somebody else has printed.
func (r Reporter) Output(stage Stage, line string) { r.Send(Output{Stage: stage, Line: line}) }

// Copied reports how many bytes of the last step are copied; total is 0 where nobody knows it.
func (r Reporter) Copied(stage Stage, bytes, total int64) {
	r.Send(Copied{Stage: stage, Bytes: bytes, Total: total})
}

// copiedEvery is how often a copy reports its progress.
const copiedEvery = 100 * time.Millisecond

// Counter returns a function for [client.Counted]; total is 0 if it is unknown. After end it
// reports nothing: a body may still be read when the answer is there.
func (r Reporter) Counter(stage Stage, total int64) (count func(int64), end func()) {
	var mu sync.Mutex
	var bytes int64
	var reported time.Time
	var ended bool
	count = func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		bytes += n
		if now := time.Now(); !ended && now.Sub(reported) >= copiedEvery {
			reported = now
			r.Copied(stage, bytes, total)
		}
	}
	return count, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// Counted returns ctx for a copy that reports its progress until end.
func (r Reporter) Counted(ctx context.Context, stage Stage, total int64) (_ context.Context, end func()) {
	count, end := r.Counter(stage, total)
	return client.Counted(ctx, count), end
}
