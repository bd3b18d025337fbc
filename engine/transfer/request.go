package transfer

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/seer-engine/seer/sdk"
)

// get does one job, and stores what arrives also if it ends early.
func (f *file) get(outer context.Context, j *job, h *host) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	stall := f.run.clock.AfterFunc(f.run.Stall, func() { cancel(errStalled) })
	defer stall.Stop()
	resp, err := f.ask(ctx, j)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	limit, err := f.check(resp, j)
	if err != nil {
		return err
	}
	f.answered(j, resp.Request.URL)
	from := &watched{r: resp.Body, host: h, stall: stall, patience: f.run.Stall}
	if j.pieces != nil {
		return f.readChunks(outer, ctx, j, resp, from)
	}
	b := &body{file: f, job: j, name: resp.Request.URL.Host, limit: limit, from: from}
	return b.read(outer, ctx)
}

// ask sends the request and follows its redirects. Later requests go straight to where
// these have led: a source may limit how often it can be asked for directions.
func (f *file) ask(ctx context.Context, j *job) (*http.Response, error) {
	f.mu.Lock()
	address := f.address(j.part.Fetch, j.fetch)
	f.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	if origin, err := url.Parse(j.fetch.URL); err == nil && sameHost(origin, req.URL) {
		for k, v := range j.fetch.Headers {
			req.Header.Set(k, v)
		}
	}
	req.Header.Del("Range")
	for k, v := range ownHeaders(j.byteRange()) {
		req.Header[k] = v
	}
	resp, err := f.run.client.Do(req)
	if err != nil {
		return nil, networkError(ctx, req.URL.Host, err)
	}
	if address == j.fetch.URL {
		if final := resp.Request.URL.String(); final != address && resp.StatusCode < 300 {
			f.remember(j, final)
		}
		return resp, nil
	}
	switch s := resp.StatusCode; {
	case s < 400, s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s == http.StatusRequestedRangeNotSatisfiable:
		return resp, nil
	}
	resp.Body.Close()
	f.remember(j, "")
	return nil, fmt.Errorf("%w: %w", errMoved, statusError(resp, req.URL.Host))
}

// answered lets others ask, too.
func (f *file) answered(j *job, by *url.URL) {
	f.run.host(by).answered.Store(true)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation == j.generation {
		f.known = true
		f.changed.Broadcast()
	}
}

// byteRange is the value of the header of that name, or nothing.
func (j *job) byteRange() string {
	switch {
	case j.pieces != nil:
		text := "bytes="
		for i, r := range j.fetch.Ranges {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf("%d-%d", r.Start, r.End-1)
		}
		return text
	case j.ranged:
		return fmt.Sprintf("bytes=%d-%d", j.offset, j.offset+j.size()-1)
	}
	return ""
}

func (f *file) remember(j *job, final string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.generation != j.generation:
	case final == "":
		delete(f.direct, j.part.Fetch)
	default:
		if f.direct == nil {
			f.direct = map[int]string{}
		}
		f.direct[j.part.Fetch] = final
	}
}

// check looks at the head of an answer, and returns where in the file its bytes end.
func (f *file) check(resp *http.Response, j *job) (limit int64, err error) {
	name := resp.Request.URL.Host
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" && resp.StatusCode < 300 {
		return 0, sdk.Errorf(sdk.Internal, "%s compresses the file (%.20q) although it was asked not to; use another source", name, e)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if j.ranged || j.pieces != nil {
			return 0, errNoRanges
		}
		if n := resp.ContentLength; j.alone && n >= 0 && n != f.Size {
			return 0, f.otherSize(n)
		}
		return f.Size, nil
	case http.StatusPartialContent:
		if j.pieces != nil {
			return 0, nil // the ranges are compared as they are read
		}
		return f.checkRange(resp, j)
	case http.StatusRequestedRangeNotSatisfiable:
		var n int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes */%d", &n); err == nil && j.alone && n != f.Size {
			return 0, f.otherSize(n)
		}
		if j.ranged {
			return 0, errNoRanges
		}
	case http.StatusForbidden:
		if f.run.host(resp.Request.URL).answered.Load() {
			return 0, errExpired
		}
	}
	return 0, statusError(resp, name)
}

// checkRange accepts an answer that begins where it should. It may be shorter than the
// request.
func (f *file) checkRange(resp *http.Response, j *job) (limit int64, err error) {
	var first, last int64
	text := resp.Header.Get("Content-Range")
	_, err = fmt.Sscanf(text, "bytes %d-%d/", &first, &last)
	if !j.ranged || err != nil || first != j.offset || last < first || last >= j.offset+j.size() {
		if j.ranged {
			return 0, errNoRanges
		}
		return 0, sdk.Errorf(sdk.Internal, "%s sends another range (%.60q) than the one that was asked for; use another source", resp.Request.URL.Host, text)
	}
	var total int64
	if _, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &total); err == nil && j.alone && total != f.Size {
		return 0, f.otherSize(total)
	}
	return j.start + last + 1 - first, nil
}

func (f File) otherSize(n int64) error {
	if n > f.Size {
		return fmt.Errorf("%w: it has more than %d bytes, namely %d", ErrMismatch, f.Size, n)
	}
	return fmt.Errorf("%w: it has %d bytes, not %d", ErrMismatch, n, f.Size)
}
