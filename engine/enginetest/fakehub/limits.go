package fakehub

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const windowLength = 5 * time.Minute

// window counts the requests of one token in five minutes.
type window struct {
	start time.Time
	used  int
}

// limiter counts the requests of each user.
type limiter struct {
	limits  Limits
	now     func() time.Time
	mu      sync.Mutex
	windows map[string]*window // by bucket and user
}

// take counts a request to the API host and refuses those that are too many.
func (l *limiter) take(r *request, user string) error {
	bucket, quota := "api", l.limits.API
	anonymous := user == ""
	switch {
	case r.kind == Resolve || r.kind == ResolveCache:
		bucket, quota = "resolvers", l.limits.Resolvers
		if quota == 0 {
			quota = 5000
			if anonymous {
				quota = 3000
			}
		}
	case quota == 0 && anonymous:
		quota = 500
	case quota == 0:
		quota = 1000
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	start := now.Truncate(windowLength)
	key := bucket + " " + user
	w := l.windows[key]
	if w == nil || !w.start.Equal(start) {
		w = &window{start: start}
		l.windows[key] = w
	}
	w.used++
	setLimit(r.w.Header(), bucket, max(quota-w.used, 0), quota, start.Add(windowLength).Sub(now))
	if w.used > quota {
		return errTooMany
	}
	return nil
}

func setLimit(header http.Header, bucket string, left, quota int, until time.Duration) {
	header.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", bucket, left, int(until.Seconds())))
	header.Set("RateLimit-Policy", fmt.Sprintf("\"fixed window\";%q;q=%d;w=%d", bucket, quota, int(windowLength.Seconds())))
}
