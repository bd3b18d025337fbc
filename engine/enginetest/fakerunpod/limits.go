package fakerunpod

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// limits counts requests in windows that begin with the first request after the
// last one has ended.
type limits struct{ windows []window }

type window struct {
	Window
	began time.Time
	used  int
}

func newLimits(all []Window) limits {
	var l limits
	for _, w := range all {
		l.windows = append(l.windows, window{Window: w})
	}
	return l
}

// take counts a request, writes the headers that tell of it, and refuses it when a
// window is full.
func (l *limits) take(now time.Time, h http.Header) error {
	var full *window
	for i := range l.windows {
		w := &l.windows[i]
		if now.Sub(w.began) >= w.Length {
			w.began, w.used = now, 0
		}
		if w.used >= w.Quota && full == nil {
			full = w
		}
	}
	if full == nil {
		for i := range l.windows {
			l.windows[i].used++
		}
	}
	l.describe(now, h)
	if full == nil {
		return nil
	}
	h.Set("Retry-After", strconv.Itoa(max(1, full.left(now))))
	return problemf(http.StatusTooManyRequests, "rate limit exceeded for the %s window", full.Name)
}

// left is in whole seconds, rounded up.
func (w window) left(now time.Time) int {
	return int(math.Ceil((w.Length - now.Sub(w.began)).Seconds()))
}

func (l *limits) describe(now time.Time, h http.Header) {
	var state, policy []string
	for _, w := range l.windows {
		state = append(state, fmt.Sprintf("%q;r=%d;t=%d", w.Name, w.Quota-w.used, w.left(now)))
		policy = append(policy, fmt.Sprintf("%q;q=%d;w=%d", w.Name, w.Quota, int(w.Length.Seconds())))
	}
	if len(state) > 0 {
		h.Set("RateLimit", strings.Join(state, ", "))
		h.Set("RateLimit-Policy", strings.Join(policy, ", "))
	}
}
