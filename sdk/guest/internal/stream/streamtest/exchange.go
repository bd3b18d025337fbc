package streamtest

import (
	"errors"
	"io"

	"github.com/seer-engine/seer/sdk"
)

// Exchange is one stream, seen from the far side.
type Exchange struct {
	HTTP sdk.HTTPOpen
	GRPC sdk.GRPCOpen
	SSH  sdk.SSHOpen
	Kube sdk.KubeOpen

	host *Host
	id   int64
	gone chan struct{} // closed when the guest has given up

	// Guarded by host.mu.
	changed chan struct{}
	sent    [][]byte // by the guest, not yet received
	held    int      // bytes of sent
	sentEnd bool
	full    bool
	credit  int64
	events  [][]byte // for the guest
	ended   bool
}

// Gone is closed when the guest has given the stream up.
func (x *Exchange) Gone() <-chan struct{} { return x.gone }

// ID is the number of the stream.
func (x *Exchange) ID() int64 { return x.id }

// Receive waits for a piece that the guest sends. The error is io.EOF after the last,
// and io.ErrClosedPipe if the guest gave up.
func (x *Exchange) Receive() ([]byte, error) {
	x.host.mu.Lock()
	defer x.host.mu.Unlock()
	for len(x.sent) == 0 {
		switch {
		case x.ended:
			return nil, io.ErrClosedPipe
		case x.sentEnd:
			return nil, io.EOF
		}
		x.wait()
	}
	piece := x.sent[0]
	x.sent = x.sent[1:]
	if x.held -= len(piece); x.full {
		x.full = false
		x.event(sdk.Event{Kind: sdk.EventRoom}, nil)
	}
	return piece, nil
}

// Echo sends back what the guest sends, to its end. It reports whether the guest is still there.
func (x *Exchange) Echo() bool {
	for {
		piece, err := x.Receive()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if !x.Data(piece) {
			return false
		}
	}
}

// Head sends the head of an answer.
func (x *Exchange) Head(status int, headers map[string][]string) {
	x.deliver(sdk.Event{Kind: sdk.EventHead, Status: status, Headers: headers}, nil)
}

// Data sends a piece, once the window is open: a piece may exceed what is left of it.
// It reports whether the guest is still there.
func (x *Exchange) Data(piece []byte) bool {
	x.host.mu.Lock()
	defer x.host.mu.Unlock()
	for x.credit < min(int64(len(piece)), sdk.StreamWindow) && !x.ended {
		x.wait()
	}
	x.credit -= int64(len(piece))
	x.event(sdk.Event{Kind: sdk.EventData}, piece)
	return !x.ended
}

// End sends the last event.
func (x *Exchange) End(e sdk.Event, payload []byte) {
	e.Kind = sdk.EventEnd
	x.deliver(e, payload)
}

func (x *Exchange) deliver(e sdk.Event, payload []byte) {
	x.host.mu.Lock()
	defer x.host.mu.Unlock()
	x.event(e, payload)
	if e.Kind == sdk.EventEnd {
		x.ended = true
		x.signal()
	}
}

func (x *Exchange) event(e sdk.Event, payload []byte) {
	if x.ended {
		return
	}
	e.Stream = x.id
	x.events = append(x.events, Encode(e, payload))
	x.host.waiting[x.id] = x
	x.host.tell()
}

// cancel is what happens when the guest gives up. What is on the way still comes.
func (x *Exchange) cancel() {
	if !x.ended {
		x.ended = true
		close(x.gone)
		x.signal()
	}
	if len(x.events) == 0 {
		delete(x.host.open, x.id)
	}
}

func (x *Exchange) signal() {
	close(x.changed)
	x.changed = make(chan struct{})
}

func (x *Exchange) wait() {
	changed := x.changed
	x.host.mu.Unlock()
	<-changed
	x.host.mu.Lock()
}
