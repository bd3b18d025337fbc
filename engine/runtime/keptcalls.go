package runtime

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Limits of the calls that clients have named, for each service.
const (
	keepAnswer   = 10 * time.Minute
	maxUnheard   = 150 * time.Second // a call for which nobody waits is cancelled
	maxAnswers   = 1000
	maxKeptBytes = 1 << 30
	maxNamed     = 256  // running at once
	maxNames     = 5000 // that are remembered, so that none runs twice
)

// keptCalls are the calls of a service that have a name. They do not depend on the
// request that began them: whoever knows the name may ask for the answer again.
type keptCalls struct {
	mu    sync.Mutex
	table map[string]*keptCall
	order []*keptCall // oldest first
	over  bool
}

// keptCall is guarded by the mutex of its table, but for done and answer, which do
// not change once done is closed.
type keptCall struct {
	id       string
	done     chan struct{}
	cancel   context.CancelFunc
	answer   *keptAnswer
	ended    bool
	again    bool // it never ran; its name may be used again
	dropped  bool // nobody needs the answer
	waiters  int
	lastSeen time.Time
}

// find returns the call of a name; nil where there is none, or none that ran.
func (t *keptCalls) find(id string) *keptCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.table[id]; k != nil && !k.again {
		return k
	}
	return nil
}

// begin runs a call under a name. Where the name has one, it is joined instead, and
// begin reports false.
func (t *keptCalls) begin(id, dir string, run func(ctx context.Context, w http.ResponseWriter) error) (*keptCall, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.table[id]; k != nil && !k.again {
		return k, false, nil
	}
	if t.over || t.running() >= maxNamed {
		return nil, false, protocol.Errorf(protocol.Unavailable, "too many calls are running at once; call again later")
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := t.add(id)
	k.cancel, k.answer = cancel, &keptAnswer{store: store{dir: dir}, header: http.Header{}}
	go func() {
		defer cancel()
		err := run(ctx, k.answer)
		t.end(k, k.answer.settle(ctx, err))
	}()
	return k, true, nil
}

func (t *keptCalls) add(id string) *keptCall {
	if t.table == nil {
		t.table = map[string]*keptCall{}
	}
	k := &keptCall{id: id, done: make(chan struct{}), cancel: func() {}, lastSeen: time.Now()}
	t.table[id] = k
	t.order = append(t.order, k)
	return k
}

func (t *keptCalls) running() int {
	n := 0
	for _, k := range t.order {
		if !k.ended {
			n++
		}
	}
	return n
}

// end notes the outcome, and makes room for it.
func (t *keptCalls) end(k *keptCall, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.ended, k.again, k.lastSeen = true, again, time.Now()
	close(k.done)
	if k.dropped || t.over {
		k.dropped = true
		k.answer.close()
		return
	}
	answers, bytes := 0, int64(0)
	for _, old := range slices.Backward(t.order) {
		if !old.ended || old.dropped {
			continue
		}
		answers++
		bytes += old.answer.size
		if (answers > maxAnswers || bytes > maxKeptBytes) && old.waiters == 0 && old != k {
			old.drop()
		}
	}
}

func (k *keptCall) drop() {
	k.dropped = true
	if k.ended && k.answer != nil {
		k.answer.close()
	}
}

// giveUp cancels a call, or drops its answer. The name stays taken, even one that
// was never heard of: the request that brings it may be on its way.
func (t *keptCalls) giveUp(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.table[id]
	if k == nil {
		k = t.add(id)
		k.ended = true
		close(k.done)
	}
	k.cancel()
	k.lastSeen = time.Now()
	k.drop()
}

// wait waits for the outcome; false when ctx ended before.
func (t *keptCalls) wait(ctx context.Context, k *keptCall) bool {
	t.count(k, 1)
	defer t.count(k, -1)
	select {
	case <-k.done:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *keptCalls) count(k *keptCall, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.waiters += n
	k.lastSeen = time.Now()
}

// send answers with the outcome of a call that is done.
func (t *keptCalls) send(w http.ResponseWriter, k *keptCall) error {
	t.mu.Lock()
	if k.dropped {
		t.mu.Unlock()
		return &protocol.CallError{Code: protocol.CallInterrupted, Message: "the answer of this call is not kept any more; it was not run again"}
	}
	k.waiters++ // so that the answer stays
	t.mu.Unlock()
	defer t.count(k, -1)
	return k.answer.send(w)
}

// tidy cancels calls for which nobody waits, and forgets old names.
func (t *keptCalls) tidy(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	excess := len(t.order) - maxNames
	t.order = slices.DeleteFunc(t.order, func(k *keptCall) bool {
		age := now.Sub(k.lastSeen)
		if !k.ended && k.waiters == 0 && age > maxUnheard {
			k.cancel()
		}
		if !k.ended || k.waiters > 0 || (age <= keepAnswer && excess <= 0) {
			return false
		}
		excess--
		k.drop()
		if t.table[k.id] == k {
			delete(t.table, k.id)
		}
		return true
	})
}

// close gives up everything: the service is gone.
func (t *keptCalls) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, k := range t.order {
		k.cancel()
		if k.waiters == 0 {
			k.drop()
		}
	}
}

// keptAnswer is an answer that is written into a store. It is an
// http.ResponseWriter.
type keptAnswer struct {
	store
	header http.Header
	status int
}

func (a *keptAnswer) Header() http.Header { return a.header }

func (a *keptAnswer) WriteHeader(status int) { a.status = status }

// settle adds what went wrong, and reports whether the call never ran.
func (a *keptAnswer) settle(ctx context.Context, err error) (again bool) {
	var e *protocol.Error
	switch {
	case err == nil:
		return false
	case ctx.Err() != nil:
		err = &protocol.CallError{Code: protocol.CallCancelled, Message: "the call was cancelled"}
	case errors.Is(err, errBegun):
		err = &protocol.CallError{Code: protocol.CallInterrupted, Message: "the answer of the call did not come whole: " + err.Error()}
	case errors.As(err, &e):
		again = e.Code == protocol.Unavailable
	}
	a.close()
	a.store = store{dir: a.dir}
	a.header = http.Header{}
	writeError(a, err)
	return again
}

func (a *keptAnswer) send(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(a.size, 10))
	w.WriteHeader(max(a.status, http.StatusOK))
	if _, err := io.Copy(w, a.reader()); err != nil {
		abort(err) // a client that is gone asks again
	}
	return nil
}
