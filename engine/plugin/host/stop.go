package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/sdk"
)

var errTimeLimit = errors.New("time limit")

// watch ends a call: when its caller gives up, or at its time limit, which stands
// still while the host works for the guest. A guest that uses streams is asked first
// and has [sdk.CancelGraceSeconds] for its answer: what it has just rented must not be
// lost. Any other guest is stopped at once.
type watch struct {
	cancel  context.CancelCauseFunc // stops the guest
	session *egress.Session
	unhook  func() bool
	timer   *time.Timer
	since   time.Time
	left    time.Duration
	ended   atomic.Pointer[error] // why the guest was asked to end
}

// startWatch returns the context that stops the guest.
func startWatch(ctx context.Context, limit time.Duration, g *egress.Gateway) (context.Context, *watch) {
	hard, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &watch{cancel: cancel, session: g.Session(hard), left: limit}
	w.timer = time.AfterFunc(limit, func() { w.end(errTimeLimit) })
	w.since = time.Now()
	w.unhook = context.AfterFunc(ctx, func() { w.end(context.Cause(ctx)) })
	return hard, w
}

func (w *watch) end(cause error) {
	w.ended.CompareAndSwap(nil, &cause)
	if !w.session.Used() {
		w.cancel(cause)
		return
	}
	w.session.Cancel()
	time.AfterFunc(sdk.CancelGraceSeconds*time.Second, func() { w.cancel(cause) })
}

// timedOut reports whether the guest came to its time limit.
func (w *watch) timedOut() bool {
	cause := w.ended.Load()
	return cause != nil && errors.Is(*cause, errTimeLimit)
}

func (w *watch) pause() {
	w.timer.Stop()
	w.left -= time.Since(w.since)
}

func (w *watch) resume() {
	w.since = time.Now()
	w.timer.Reset(max(w.left, 0))
}

func (w *watch) stop() {
	w.timer.Stop()
	w.unhook()
	w.cancel(nil)
	w.session.Close()
}
