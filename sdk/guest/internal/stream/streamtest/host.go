// Package streamtest is a host of streams in memory, for tests. It keeps to
// sdk/abi.go, holds the guest to it, and delivers the events of different streams in
// any order.
package streamtest

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Host implements the host's side. Its functions run in a goroutine for each stream,
// which the test waits for.
type Host struct {
	HTTP func(*Exchange)
	GRPC func(*Exchange)
	SSH  func(*Exchange)
	Kube func(*Exchange)
	Room int // bytes of a stream that are taken before SendFull; 0 = 128 KiB

	t     testing.TB
	group sync.WaitGroup

	mu      sync.Mutex
	last    int64
	open    map[int64]*Exchange
	waiting map[int64]*Exchange // with events for the guest, and streams that were given up
	loose   [][]byte            // events of no stream
	news    chan struct{}
}

// New makes a host whose streams must all have ended, one way or the other, when the
// test does.
func New(t testing.TB) *Host {
	h := &Host{t: t, open: map[int64]*Exchange{}, waiting: map[int64]*Exchange{}, news: make(chan struct{}, 1)}
	t.Cleanup(func() {
		h.mu.Lock()
		for id, x := range h.open {
			if !x.ended {
				t.Errorf("stream %d was left open", id)
				x.cancel()
			}
		}
		h.mu.Unlock()
		h.group.Wait()
	})
	return h
}

// OpenHTTP begins a request.
func (h *Host) OpenHTTP(in sdk.HTTPOpen) (int64, error) {
	return h.begin(&Exchange{HTTP: in}, h.HTTP)
}

// OpenGRPC begins a call.
func (h *Host) OpenGRPC(in sdk.GRPCOpen) (int64, error) {
	return h.begin(&Exchange{GRPC: in}, h.GRPC)
}

// OpenSSH begins a command on a host.
func (h *Host) OpenSSH(in sdk.SSHOpen) (int64, error) {
	return h.begin(&Exchange{SSH: in}, h.SSH)
}

// OpenKube begins a request to a cluster, or a command in a pod.
func (h *Host) OpenKube(in sdk.KubeOpen) (int64, error) {
	return h.begin(&Exchange{Kube: in}, h.Kube)
}

func (h *Host) begin(x *Exchange, serve func(*Exchange)) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if serve == nil {
		return 0, sdk.Errorf(sdk.Unauthorized, "the manifest does not name this destination")
	}
	if len(h.open) >= sdk.MaxStreams {
		return 0, sdk.Errorf(sdk.Invalid, "%d streams are open at once", len(h.open))
	}
	h.last++
	x.host, x.id, x.credit = h, h.last, sdk.StreamWindow
	x.changed, x.gone = make(chan struct{}), make(chan struct{})
	h.open[x.id] = x
	h.group.Go(func() { serve(x) })
	return x.id, nil
}

// Send takes what the guest sends.
func (h *Host) Send(id int64, data []byte, flags int32) int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.open[id]
	if x == nil || x.ended {
		return sdk.SendOver
	}
	if flags&sdk.SendCancel != 0 {
		x.cancel()
		return sdk.SendOK
	}
	room := h.Room
	if room == 0 {
		room = 128 << 10
	}
	switch {
	case x.sentEnd:
		h.t.Errorf("stream %d: something was sent after the end", id)
	case x.full:
		h.t.Errorf("stream %d: something was sent before there was room", id)
	case x.held > 0 && x.held+max(len(data), 1) > room: // an end needs room, too
		x.full = true
		return sdk.SendFull
	}
	if flags&sdk.SendData != 0 {
		x.sent = append(x.sent, append([]byte{}, data...))
		x.held += len(data)
	}
	x.sentEnd = flags&sdk.SendEnd != 0
	x.signal()
	return sdk.SendOK
}

// Credit lets more be delivered.
func (h *Host) Credit(id, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.open[id]
	if x == nil {
		return
	}
	if x.credit += bytes; bytes <= 0 || x.credit > sdk.StreamWindow {
		h.t.Errorf("stream %d: a credit of %d makes %d, more than the window", id, bytes, x.credit)
	}
	x.signal()
}

// Wait gives some of the events there are, those of one stream in order.
func (h *Host) Wait(limit time.Duration) []byte {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if block := h.collect(); len(block) > 0 {
			return block
		}
		select {
		case <-h.news:
		case <-timer.C:
			return h.collect()
		}
	}
}

func (h *Host) collect() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var block []byte
	for _, e := range h.loose {
		block = append(block, e...)
	}
	h.loose = nil
	for id, x := range h.waiting { // in no order
		n := 1 + rand.IntN(len(x.events))
		for _, e := range x.events[:n] {
			block = append(block, e...)
		}
		if x.events = x.events[n:]; len(x.events) == 0 {
			delete(h.waiting, id)
			if x.ended {
				delete(h.open, id)
			}
		}
	}
	if len(h.waiting) > 0 {
		h.tell()
	}
	return block
}

// Cancel tells the guest that the engine has given up.
func (h *Host) Cancel() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loose = append(h.loose, Encode(sdk.Event{Kind: sdk.EventCancel}, nil))
	h.tell()
}

// Raw delivers a block as it is.
func (h *Host) Raw(block []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loose = append(h.loose, block)
	h.tell()
}

// EndAll ends all streams without telling the guest, as at the end of a call.
func (h *Host) EndAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.open {
		x.cancel()
	}
}

func (h *Host) tell() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// Encode writes an event as [sdk.HostStreamWait] delivers it.
func Encode(e sdk.Event, payload []byte) []byte {
	e.Size = len(payload)
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), payload...)
}
