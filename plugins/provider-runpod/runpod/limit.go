package runpod

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

// window is what is left of one of RunPod's limits on requests.
type window struct {
	Name  string // minute, hour, day
	Left  int    // requests
	Reset int    // seconds until there are more
}

const maxWait = 24 * 60 * 60 // seconds: RunPod's longest window

// parseRateLimit reads the header RateLimit: "minute";r=0;t=12, "hour";r=2800;t=1812.
// What is not of this form is left out.
func parseRateLimit(text string) []window {
	var all []window
	for _, member := range strings.Split(text, ",") {
		parts := strings.Split(member, ";")
		w := window{Name: strings.Trim(strings.TrimSpace(parts[0]), `"`), Left: -1, Reset: -1}
		for _, p := range parts[1:] {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			n, err := strconv.Atoi(value)
			switch {
			case err != nil || n < 0:
			case key == "r":
				w.Left = n
			case key == "t":
				w.Reset = min(n, maxWait)
			}
		}
		if w.Left >= 0 && w.Reset >= 0 {
			all = append(all, w)
		}
	}
	return all
}

// spent is the window without requests that lasts longest.
func spent(header http.Header) (window, bool) {
	var worst window
	found := false
	for _, w := range parseRateLimit(header.Get("RateLimit")) {
		if w.Left == 0 && (!found || w.Reset > worst.Reset) {
			worst, found = w, true
		}
	}
	return worst, found
}

// after is the header Retry-After in seconds; 0 = it is not there.
func after(header http.Header) float64 { return guesthttp.RetryAfter(header, time.Now()) }

// retryAfter is how long to wait after a 429, in seconds.
func retryAfter(header http.Header) float64 {
	if n := after(header); n > 0 {
		return n
	}
	if w, ok := spent(header); ok && w.Reset > 0 {
		return float64(w.Reset)
	}
	return pollTime
}

// limiter keeps from asking while RunPod would refuse: a refused request helps nobody.
type limiter struct {
	mu     sync.Mutex
	until  time.Time
	window string
}

func (l *limiter) learn(now time.Time, header http.Header) {
	w, ok := spent(header)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(time.Duration(w.Reset) * time.Second); until.After(l.until) {
		l.until, l.window = until, w.Name
	}
}

func (l *limiter) check(now time.Time, doing string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := l.until.Sub(now)
	if wait <= 0 {
		return nil
	}
	return &sdk.Error{
		Code:    sdk.RateLimited,
		Message: fmt.Sprintf("%s: RunPod's limit on the requests of this key is reached (%s)", doing, l.window),
		Seconds: math.Ceil(wait.Seconds()),
	}
}
