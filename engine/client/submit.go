package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Submit makes a call that continues while nobody waits, and returns when the worker has
// confirmed it. [Calls.Attach] follows it, from anywhere. Submit reconnects after a broken
// connection; because the call has a name, it never runs twice.
func (c *Calls) Submit(ctx context.Context, r CallRequest) (protocol.Call, error) {
	r.Detach = true
	f, err := c.follower(r, CallHandler{})
	if err != nil {
		return protocol.Call{}, err
	}
	return f.detach(ctx)
}

// Detach lets the call run to its end while nobody waits, as after [Calls.Submit], and
// returns when the worker has recorded that. For a call that has ended it does nothing.
func (p *PendingCall) Detach(ctx context.Context) error {
	f := &follower{
		c: p.calls, service: p.service, next: noEvents,
		head: protocol.FrameHeader{Kind: protocol.FrameAttach, ID: p.id, CallOptions: protocol.CallOptions{Detach: true}},
	}
	f.keep.Store(true)
	call, err := f.detach(ctx)
	switch {
	case err != nil:
		return err
	case !call.Detached && (call.State == protocol.CallQueued || call.State == protocol.CallRunning):
		return protocol.Errorf(protocol.Unsupported, "the call %s was not detached: the journal of its worker is full, or the worker has an older version", p.id)
	}
	p.follower.keep.Store(true)
	return nil
}

// noEvents is a number of an event that no call comes to.
const noEvents = math.MaxInt32

// detach makes the call, or asks for it, until the worker has answered that it has it.
func (f *follower) detach(ctx context.Context) (protocol.Call, error) {
	f.heard = time.Now()
	for b := newBackoff(); ; {
		call, err := f.submit(ctx)
		if err == nil || !f.again(ctx, &err) {
			return call, err
		}
		if werr := b.Wait(ctx); werr != nil {
			return protocol.Call{}, werr
		}
	}
}

// submit makes the call on one connection and asks for it there.
func (f *follower) submit(ctx context.Context) (protocol.Call, error) {
	conn, _, err := f.c.take(ctx, f.service)
	if err != nil {
		return protocol.Call{}, err
	}
	defer conn.Close() // what comes of the call is for somebody else
	stop := context.AfterFunc(ctx, conn.interrupt)
	defer stop()
	if err := f.send(conn); err != nil {
		return protocol.Call{}, err
	}
	if err := protocol.WriteFrame(conn.conn, protocol.FrameHeader{Kind: protocol.FrameCalls, ID: f.head.ID}, nil); err != nil {
		return protocol.Call{}, asCut(err)
	}
	for {
		h, size, err := protocol.ReadFrameHeader(conn.r)
		if err != nil {
			return protocol.Call{}, asCut(protocol.NoEOF(err))
		}
		if h.Kind == protocol.FrameCalls {
			return f.submitted(conn.r, size)
		}
		if err := skipBody(conn.r, size); err != nil {
			return protocol.Call{}, asCut(err)
		}
		if h.Kind == protocol.FrameError && h.ID == f.head.ID && h.Error != nil && (h.Error.Code == protocol.CallRefused || h.Error.Code == protocol.CallBusy || h.Error.Code == protocol.CallUnknown) {
			return protocol.Call{}, h.Error // it does not run
		}
	}
}

// submitted finds the call in the worker's list.
func (f *follower) submitted(r io.Reader, size int64) (protocol.Call, error) {
	data, err := readBody(r, size)
	if err != nil {
		return protocol.Call{}, asCut(err)
	}
	var list []protocol.Call
	if err := json.Unmarshal(data, &list); err != nil {
		return protocol.Call{}, protocol.Errorf(protocol.Internal, "the worker's list of calls cannot be read: %v", err)
	}
	for _, call := range list {
		if call.ID == f.head.ID {
			return call, nil
		}
	}
	return protocol.Call{}, asCut(errors.Join(io.ErrUnexpectedEOF, protocol.Errorf(protocol.Internal, "the worker does not know the call that it was sent")))
}
