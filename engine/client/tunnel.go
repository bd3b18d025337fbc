package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// tunnel makes connections to a runtime that is reached through something that
// may cut them.
type tunnel struct {
	endpoint endpoint
	token    string
	http     *http.Client
	patience time.Duration // while it does not get through; 0 = the link's own
	gone     func() error  // says that the machine has ended; nil = nobody knows

	mu    sync.Mutex
	conns []*resumable.Conn // that may still have something to deliver
}

func (t *tunnel) dial(ctx context.Context) (net.Conn, error) {
	d := resumable.Dialer{URL: t.endpoint.base + "/v1/link", HTTP: t.http, Patience: t.patience, Gone: t.gone,
		Header: http.Header{"Authorization": {"Bearer " + t.token}}}
	conn, err := d.Dial(ctx)
	if err != nil {
		return nil, t.explain(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = slices.DeleteFunc(t.conns, (*resumable.Conn).Ended)
	t.conns = append(t.conns, conn)
	return conn, nil
}

// drain lets the last words of closed connections leave: a machine that hears
// them need not wait for what never comes.
func (t *tunnel) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t.mu.Lock()
	conns := t.conns
	t.conns = nil
	t.mu.Unlock()
	for _, c := range conns {
		c.Delivered(ctx)
	}
}

// explain says what a refused websocket means.
func (t *tunnel) explain(err error) error {
	var refused *resumable.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	said := errorIn(refused.Status, refused.Body)
	switch {
	case refused.Status == http.StatusNotFound && errorCode(refused.Body) == protocol.NotFound:
		return protocol.Errorf(protocol.Unsupported, "the runtime of the sandbox at %s is older than this program and cannot be reached through a tunnel: start the sandbox again", t.endpoint.text)
	case refused.Ours():
		return said
	}
	return &tunnelError{endpoint: t.endpoint.text, status: refused.Status, body: refused.Body, websocket: true}
}

// errorCode is the code that an answer names, from whichever server it comes.
func errorCode(body []byte) protocol.Code {
	var named struct {
		Error protocol.Error `json:"error"`
	}
	_ = json.Unmarshal(body, &named) // which need not be JSON
	return named.Error.Code
}

const (
	fatePause = 3 * time.Second  // between two questions to the provider
	fateTime  = 30 * time.Second // for one
)

// fate knows whether a machine has ended, as its provider says. The provider is asked in the
// background: a slow one holds up nobody who tries to get through to a machine that lives.
type fate struct {
	ask   func(context.Context) error // nil unless the machine is known to have ended
	pause time.Duration

	mu    sync.Mutex
	busy  bool
	next  time.Time
	ended error
}

// known is the end of the machine, as far as it is known by now. It does not block, and asks the
// provider again where the last answer is old.
func (f *fate) known() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil && !f.busy && !time.Now().Before(f.next) {
		f.busy = true
		go f.look()
	}
	return f.ended
}

// await asks the provider until it knows the end of the machine, or ctx ends.
func (f *fate) await(ctx context.Context) error {
	for b := newBackoff(); f != nil; {
		if err := f.ask(ctx); err != nil {
			return &goneError{err}
		}
		if b.Wait(ctx) != nil {
			break
		}
	}
	return nil
}

func (f *fate) look() {
	ctx, cancel := context.WithTimeout(context.Background(), fateTime)
	defer cancel()
	err := f.ask(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy, f.next = false, time.Now().Add(f.pause)
	if err != nil {
		f.ended = &goneError{err}
	}
}

// goneError is what a provider has said of a machine that has ended.
type goneError struct{ err error }

func (e *goneError) Error() string { return e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }
