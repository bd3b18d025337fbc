package stream

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
)

// Pump fetches events from the host and hands them to the streams that they are of.
type Pump struct {
	host  Host
	calls *call.Calls

	mu      sync.Mutex // also of all its streams
	streams map[int64]*Stream
	running bool
}

// New makes a pump. Streams that are open at the beginning of a call are of an
// earlier one, which the host has ended: they end then.
func New(host Host, calls *call.Calls) *Pump {
	p := &Pump{host: host, calls: calls, streams: map[int64]*Stream{}}
	calls.AtBegin(p.forget)
	return p
}

// Instance is the pump of this plugin's instance.
var Instance = sync.OnceValue(func() *Pump { return New(instance{}, &call.Instance) })

// OpenHTTP begins a request. The stream is given up when ctx ends.
func (p *Pump) OpenHTTP(ctx context.Context, in sdk.HTTPOpen) (*Stream, error) {
	return p.open(ctx, func() (int64, error) { return p.host.OpenHTTP(in) })
}

// OpenGRPC begins a call of a method. The stream is given up when ctx ends.
func (p *Pump) OpenGRPC(ctx context.Context, in sdk.GRPCOpen) (*Stream, error) {
	return p.open(ctx, func() (int64, error) { return p.host.OpenGRPC(in) })
}

// OpenSSH begins a command on a host. The stream is given up when ctx ends.
func (p *Pump) OpenSSH(ctx context.Context, in sdk.SSHOpen) (*Stream, error) {
	return p.open(ctx, func() (int64, error) { return p.host.OpenSSH(in) })
}

// OpenKube begins a request to a cluster, or a command in a pod. The stream is given up when ctx
// ends.
func (p *Pump) OpenKube(ctx context.Context, in sdk.KubeOpen) (*Stream, error) {
	return p.open(ctx, func() (int64, error) { return p.host.OpenKube(in) })
}

func (p *Pump) open(ctx context.Context, ask func() (int64, error)) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := ask() // under the lock: its events find it
	if err != nil {
		return nil, err
	}
	s := &Stream{pump: p, id: id, changed: make(chan struct{}), done: make(chan struct{})}
	s.stop = context.AfterFunc(ctx, func() { s.Fail(ctx.Err()) })
	p.streams[id] = s
	if !p.running {
		p.running = true
		go p.run()
	}
	return s, nil
}

// How long the host may hold the guest's only thread. An event ends a wait at once;
// what has to wait for the end of a slice is a timer of the guest's.
const (
	firstSlice = time.Millisecond
	lastSlice  = 10 * time.Millisecond
	busy       = 100 * time.Microsecond // a yield as long as this let others do something
)

// run is the only goroutine that waits in the host. It goes on between two streams
// of one call, for that is how the call learns that it was given up.
func (p *Pump) run() {
	slice := firstSlice
	for p.wanted() {
		if yield() > busy { // they may have more to do: only look
			slice = 0
		}
		if events := p.host.Wait(slice); len(events) > 0 {
			p.dispatch(events)
			slice = firstSlice
		} else {
			slice = min(max(2*slice, firstSlice), lastSlice)
		}
	}
}

// yield lets every goroutine that can run get to where it has to wait, and tells
// how long that took. Once is not enough: those that are woken meanwhile come last.
func yield() time.Duration {
	start := time.Now()
	for range 3 {
		runtime.Gosched()
	}
	return time.Since(start)
}

func (p *Pump) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = len(p.streams) > 0 || p.calls.Running()
	return p.running
}

// dispatch hands out a block of events. Those of streams that were given up are
// dropped. A block that cannot be read is a defect of the host's: nothing can be
// trusted after it.
func (p *Pump) dispatch(block []byte) {
	events, err := parse(block)
	if err != nil {
		p.failAll(sdk.Errorf(sdk.Internal, "the host delivered what cannot be read: %v", err))
		return
	}
	for _, d := range events {
		if d.Kind == sdk.EventCancel {
			p.calls.Cancel()
			continue
		}
		p.mu.Lock()
		if s := p.streams[d.Stream]; s != nil {
			s.take(d)
		}
		p.mu.Unlock()
	}
}

// forget ends what an earlier call has left open.
func (p *Pump) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		s.data = nil
		s.finish(&End{Err: context.Canceled})
	}
}

func (p *Pump) failAll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		s.fail(err)
	}
}
