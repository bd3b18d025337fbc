package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"
)

// Submit makes a call that goes on with nobody waiting, and returns once the worker
// says that it has it. [Client.Attach] follows it, from anywhere. A connection that
// breaks is made again, and the call, which has a name, not made twice.
func (c *Client) Submit(ctx context.Context, r CallRequest) (Call, error) {
	r.Detach = true
	f, err := c.follower(r, CallHandler{})
	if err != nil {
		return Call{}, err
	}
	return f.detach(ctx)
}

// Detach has the call go on to its end with nobody waiting, as if it had been made with
// [Client.Submit], and returns once the worker has noted that. For a call that has ended it
// does nothing.
func (p *PendingCall) Detach(ctx context.Context) error {
	f := &follower{
		c: p.client, service: p.service, next: noEvents,
		head: FrameHeader{Kind: FrameAttach, ID: p.id, CallOptions: CallOptions{Detach: true}},
	}
	f.keep.Store(true)
	call, err := f.detach(ctx)
	switch {
	case err != nil:
		return err
	case !call.Detached && (call.State == CallQueued || call.State == CallRunning):
		return Errorf(Unsupported, "the call %s was not detached: the journal of its worker is full, or the worker is of an older version", p.id)
	}
	p.follower.keep.Store(true)
	return nil
}

// noEvents is a number of an event that no call comes to.
const noEvents = math.MaxInt32

// detach makes the call, or asks for it, until the worker has answered that it has it.
func (f *follower) detach(ctx context.Context) (Call, error) {
	f.heard = time.Now()
	for b := (backoff{}); ; {
		call, err := f.submit(ctx)
		if err == nil || !f.again(ctx, &err) {
			return call, err
		}
		if werr := b.wait(ctx); werr != nil {
			return Call{}, werr
		}
	}
}

// submit makes the call on one connection and asks for it there.
func (f *follower) submit(ctx context.Context) (Call, error) {
	conn, _, err := f.c.take(ctx, f.service)
	if err != nil {
		return Call{}, err
	}
	defer conn.Close() // what comes of the call is for somebody else
	stop := context.AfterFunc(ctx, conn.interrupt)
	defer stop()
	if err := f.send(conn); err != nil {
		return Call{}, err
	}
	if err := WriteFrame(conn.conn, FrameHeader{Kind: FrameCalls, ID: f.head.ID}, nil); err != nil {
		return Call{}, asCut(err)
	}
	for {
		h, size, err := ReadFrameHeader(conn.r)
		if err != nil {
			return Call{}, asCut(noEOF(err))
		}
		if h.Kind == FrameCalls {
			return f.submitted(conn.r, size)
		}
		if err := skipBody(conn.r, size); err != nil {
			return Call{}, asCut(err)
		}
		if h.Kind == FrameError && h.ID == f.head.ID && h.Error != nil && (h.Error.Code == CallRefused || h.Error.Code == CallBusy || h.Error.Code == CallUnknown) {
			return Call{}, h.Error // it does not run
		}
	}
}

// submitted finds the call in the worker's list.
func (f *follower) submitted(r io.Reader, size int64) (Call, error) {
	data, err := readBody(r, size)
	if err != nil {
		return Call{}, asCut(err)
	}
	var list []Call
	if err := json.Unmarshal(data, &list); err != nil {
		return Call{}, Errorf(Internal, "the worker's list of calls cannot be read: %v", err)
	}
	for _, call := range list {
		if call.ID == f.head.ID {
			return call, nil
		}
	}
	return Call{}, asCut(errors.Join(io.ErrUnexpectedEOF, Errorf(Internal, "the worker does not know the call that it was sent")))
}
