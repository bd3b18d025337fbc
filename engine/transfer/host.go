package transfer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/internal/retry"
)

const (
	firstConnections = 4         // of files whose transfer takes long
	smallFiles       = 256 << 10 // bytes on average, below which a file mostly waits for answers
	maxPerHost       = 16
	window           = 500 * time.Millisecond // throughput is compared from window to window
	holdOff          = 10 * time.Second       // between a step that did not pay and the next one
	worthIt          = 1.05                   // how much faster more connections must be
	firstPause       = 250 * time.Millisecond
	longestPause     = 15 * time.Second
)

// host is what a run knows of one host: how many connections pay, and when it may be
// asked again.
type host struct {
	clock    clock
	answered atomic.Bool // with content

	mu      sync.Mutex
	limit   int // connections
	running int
	waiting []chan struct{} // first come, first served
	until   time.Time       // no request before
	failed  time.Time       // last counted failure
	backoff retry.Backoff

	begun time.Time // of the window
	bytes int64     // in it
	full  bool      // all connections were in use all the time
	skip  bool      // the window after a step: its connections still become fast
	step  int       // connections that the last step added, until it is judged
	rate  float64   // bytes per second before the step
	hold  time.Time // no step before
}

func newHost(c clock, connections int) *host {
	return &host{clock: c, limit: connections, backoff: retry.Backoff{Min: firstPause, Max: longestPause}}
}

// connectionsFor is with how many connections a host is asked first. Small files get all there may
// be: their throughput varies too much from window to window to be compared.
func connectionsFor(files []File) int {
	if total(files) < int64(len(files))*smallFiles {
		return maxPerHost
	}
	return firstConnections
}

// acquire waits for a connection, and until the host may be asked.
func (h *host) acquire(ctx context.Context) error {
	h.mu.Lock()
	if h.running < h.limit && len(h.waiting) == 0 {
		h.running++
		h.mu.Unlock()
	} else {
		turn := make(chan struct{})
		h.waiting = append(h.waiting, turn)
		h.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			h.leave(turn)
			return ctx.Err()
		}
	}
	if err := h.patience(ctx); err != nil {
		h.release()
		return err
	}
	return nil
}

// leave gives up a place in the queue, or the turn that has come meanwhile.
func (h *host) leave(turn chan struct{}) {
	h.mu.Lock()
	for i, other := range h.waiting {
		if other == turn {
			h.waiting = append(h.waiting[:i], h.waiting[i+1:]...)
			h.mu.Unlock()
			return
		}
	}
	h.mu.Unlock()
	h.release()
}

// patience waits until the host may be asked.
func (h *host) patience(ctx context.Context) error {
	for {
		h.mu.Lock()
		wait := h.until.Sub(h.clock.Now())
		h.mu.Unlock()
		if wait <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, h.clock, wait); err != nil {
			return err
		}
	}
}

func (h *host) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	h.admit()
	if h.running < h.limit {
		h.full = false
	}
}

func (h *host) admit() {
	for h.running < h.limit && len(h.waiting) > 0 {
		h.running++
		close(h.waiting[0])
		h.waiting = h.waiting[1:]
	}
}

// received counts bytes, and judges the number of connections at the end of a window.
func (h *host) received(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.backoff.Reset()
	now := h.clock.Now()
	if h.begun.IsZero() {
		h.open(now)
	}
	h.bytes += n
	passed := now.Sub(h.begun)
	if passed < window {
		return
	}
	rate := float64(h.bytes) / passed.Seconds()
	if h.full && !h.skip {
		h.judge(rate, now)
	} else {
		h.skip = false
	}
	h.open(now)
}

func (h *host) open(now time.Time) { h.begun, h.bytes, h.full = now, 0, h.running >= h.limit }

// judge adds connections as long as they pay, and takes back those that do not.
func (h *host) judge(rate float64, now time.Time) {
	if h.step > 0 && rate < h.rate*worthIt {
		h.limit, h.step, h.hold = max(1, h.limit-h.step), 0, now.Add(holdOff)
		return
	}
	h.step = 0
	if h.limit < maxPerHost && len(h.waiting) > 0 && !now.Before(h.hold) {
		h.step = min(max(2, h.limit/2), maxPerHost-h.limit)
		h.limit += h.step
		h.rate, h.skip = rate, true
		h.admit()
	}
}

// failure has everybody wait before the host is asked again, at least as long as it asks
// for, and takes connections back. Faults of requests that ran together are one.
func (h *host) failure(began time.Time, ask time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	if until := now.Add(ask); until.After(h.until) {
		h.until = until
	}
	if !began.After(h.failed) {
		return
	}
	h.failed = now
	if until := now.Add(h.backoff.Next()); until.After(h.until) {
		h.until = until
	}
	h.limit, h.step, h.hold = max(1, h.limit/2), 0, now.Add(holdOff)
}

func (h *host) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.limit
}
