package httpretry

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/seer-engine/seer/internal/retry"
)

const (
	attempts   = 4
	firstPause = 250 * time.Millisecond
	leastShown = 64 << 10 // of an upload: the rest is manifests
)

// patient asks again after 429 and the 5xx that pass, as long as Retry-After is
// bearable and the request's body can be sent again.
type patient struct{ o Options }

func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		resp, err := p.once(req)
		if err != nil || !passing(resp.StatusCode) {
			return resp, err
		}
		wait := max(pause, RetryAfter(resp))
		if attempt == attempts || wait > p.o.Wait || (req.Body != nil && req.Body != http.NoBody && req.GetBody == nil) {
			return enough(resp)
		}
		resp.Body.Close()
		if err := retry.Sleep(req.Context(), wait); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = body
		}
		pause *= 2
	}
}

// enough gives up. That somebody is asked too often is said here, where it is known for
// how long.
func enough(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode != http.StatusTooManyRequests {
		return resp, nil
	}
	resp.Body.Close()
	return nil, Status(resp)
}

// once gives a server the stall time to begin its answer. An upload has its own pace:
// there the time begins anew with every piece that it takes.
func (p patient) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := time.AfterFunc(p.o.Stall, func() { cancel(errStalled) })
	req = req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &upload{ReadCloser: req.Body, each: func(done int64) {
			watch.Reset(p.o.Stall)
			if p.o.Progress != nil && req.ContentLength >= leastShown {
				p.o.Progress(done, req.ContentLength)
			}
		}}
	}
	resp, err := p.o.Transport.RoundTrip(req)
	if !watch.Stop() { // its function may not have come to it yet
		cancel(errStalled)
	}
	if err == nil && ctx.Err() != nil { // what a server says as the connection ends is no answer
		resp.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &ending{ReadCloser: resp.Body, end: func() { cancel(nil) }}
	return resp, nil
}

func passing(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// RetryAfter is how long an answer asks to wait: in seconds, or until a date.
func RetryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
