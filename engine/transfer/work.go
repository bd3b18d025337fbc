package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	maxTries    = 8                // faults in a row without a byte
	maxRenewals = 3                // without a byte
	longestWait = 10 * time.Minute // that a server may ask for; rate limits have windows of five
	largestSpan = 8                // blocks of a request
)

// job is one request: for bytes of the file that one part of the source has, or, of Xet
// chunks, for all that one fetch has.
type job struct {
	span
	part       Part
	pieces     []piece // XetChunks: all parts of the fetch
	fetch      Fetch
	generation int   // of the source
	offset     int64 // where the first byte of the span is in the address
	whole      bool  // the server sends everything from the address's first byte on
	ranged     bool  // the request names a range
	alone      bool  // the address holds the file and nothing else
}

// work takes jobs until nothing is missing.
func (f *file) work(ctx context.Context) error {
	for {
		more, err := f.ready(ctx)
		if err != nil || !more {
			return err
		}
		if err := f.attempt(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
}

// ready waits for bytes that nobody has asked for. There are none any more if nothing is
// missing.
func (f *file) ready(ctx context.Context) (more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ctx.Err() == nil {
		switch {
		case f.Size == 0 && f.empty && f.flying == 0, f.Size > 0 && f.written.bytes() == f.Size:
			return false, nil
		case f.free():
			return true, nil
		}
		f.changed.Wait()
	}
	return false, ctx.Err()
}

// free reports whether there is something to ask for. f.mu is held.
func (f *file) free() bool {
	if f.whole && f.flying > 0 {
		return false
	}
	return f.Size == 0 && !f.empty || f.claimed.gap(0, f.Size).size() > 0
}

// attempt does one job. Its error is one that no other attempt can mend.
func (f *file) attempt(ctx context.Context) error {
	source, generation, err := f.current(ctx)
	if err != nil {
		return f.judge(ctx, err, nil, f.run.clock.Now())
	}
	if len(source.Parts) == 0 { // an empty file that nobody has to be asked for
		f.mu.Lock()
		f.empty = true
		f.changed.Broadcast()
		f.mu.Unlock()
		return nil
	}
	h, err := f.nextHost(source)
	if err != nil {
		return err
	}
	if err := h.acquire(ctx); err != nil {
		return err
	}
	defer h.release()
	j, ok := f.claim(source, generation, h)
	if !ok { // somebody else was faster
		return nil
	}
	began := f.run.clock.Now()
	err = f.get(ctx, j, h)
	f.giveBack(j, err)
	switch {
	case errors.Is(err, errNoRanges):
		err = f.restart(j, err)
	case errors.Is(err, errExpired):
		err = f.renew(ctx, j.generation, hostOf(j.fetch.URL))
	}
	return f.judge(ctx, err, h, began)
}

// judge says what an error means for the file: nil if another attempt may help.
func (f *file) judge(ctx context.Context, err error, h *host, began time.Time) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !passing(err) && !errors.Is(err, errMoved) || after(err) > longestWait:
		return err
	}
	f.mu.Lock()
	if began.After(f.failed) { // requests that ran together have one fault
		f.failed = f.run.clock.Now()
		f.tries++
	}
	tries := f.tries
	f.mu.Unlock()
	if tries >= maxTries {
		return fmt.Errorf("%w (after %d attempts without a byte; what has arrived is kept)", err, tries)
	}
	switch {
	case h == nil:
		return sleep(ctx, f.run.clock, max(after(err), firstPause<<tries))
	case !errors.Is(err, errMoved): // which is no fault of the host
		h.failure(began, after(err))
	}
	return nil
}

// nextHost is where the next job will ask.
func (f *file) nextHost(s Source) (*host, error) {
	f.mu.Lock()
	_, part, _ := s.partAt(f.claimed.gap(0, f.Size).start)
	address := f.address(part.Fetch, s.Fetches[part.Fetch])
	f.mu.Unlock()
	u, err := url.Parse(address)
	if err != nil {
		return nil, withoutURL(err)
	}
	return f.run.host(u), nil
}

// address is where a fetch is read: where its redirects have led to, once that is known.
// f.mu is held.
func (f *file) address(fetch int, of Fetch) string {
	if direct, ok := f.direct[fetch]; ok {
		return direct
	}
	return of.URL
}

// partAt is the part that holds a byte of the file, its number, and its first byte.
func (s Source) partAt(at int64) (n int, p Part, start int64) {
	for n, p = range s.Parts {
		if at < start+p.Length || n == len(s.Parts)-1 {
			return n, p, start
		}
		start += p.Length
	}
	return n, p, start
}

// claim takes the next bytes: many while much is missing, so that there are few requests,
// and less towards the end, so that all connections end together.
func (f *file) claim(s Source, generation int, h *host) (job, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.free() || f.generation != generation {
		return job{}, false
	}
	gap := f.claimed.gap(0, f.Size)
	_, part, start := s.partAt(gap.start)
	j := job{part: part, fetch: s.Fetches[part.Fetch], generation: generation, whole: f.whole}
	j.alone = len(s.Parts) == 1 && part.Offset == 0
	switch {
	case part.Encoding == XetChunks:
		j.pieces = s.pieces(part.Fetch)
	case f.whole:
		j.span, j.offset = span{0, f.Size}, part.Offset
	default:
		share := (f.Size - f.claimed.bytes()) / int64(2*h.connections())
		most := min(max(share, f.run.block), largestSpan*f.run.block)
		j.span = span{gap.start, min(gap.end, start+part.Length, gap.start+most)}
		j.offset = part.Offset + j.start - start
		j.ranged = !j.alone || j.size() < f.Size
	}
	for _, s := range j.spans() {
		f.claimed.add(s)
	}
	f.empty = true
	f.flying++
	return j, true
}

// giveBack leaves to others what a job has not brought.
func (f *file) giveBack(j job, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Size == 0 && err != nil {
		f.empty = false
	}
	for _, s := range j.spans() {
		for _, gap := range f.written.missing(s) {
			f.claimed.remove(gap)
		}
	}
	f.flying--
	f.changed.Broadcast()
}

// restart goes on with one connection that reads the whole file.
func (f *file) restart(j job, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.whole || len(f.source.Parts) != 1 || j.pieces != nil {
		return sdk.Errorf(sdk.Unsupported, "%s %v, and the file is made of parts; use another source", hostOf(j.fetch.URL), err)
	}
	f.whole = true
	return nil
}

// current is the source, after it has been renewed if there was none or its time is over.
func (f *file) current(ctx context.Context) (Source, int, error) {
	for {
		f.mu.Lock()
		s, generation := f.source, f.generation
		f.mu.Unlock()
		if !s.zero() && (s.Expires.IsZero() || f.run.clock.Now().Before(s.Expires)) {
			return s, generation, nil
		}
		host := ""
		if len(s.Fetches) > 0 {
			host = hostOf(s.Fetches[0].URL)
		}
		if err := f.renew(ctx, generation, host); err != nil {
			return Source{}, 0, err
		}
	}
}

// renew asks for another source, unless somebody has done so since that generation.
func (f *file) renew(ctx context.Context, generation int, host string) error {
	select {
	case f.renewal <- struct{}{}:
		defer func() { <-f.renewal }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	done, renewed, now := f.written.bytes(), f.renewed, f.generation
	f.mu.Unlock()
	switch {
	case now != generation:
		return nil
	case f.run.Renew == nil:
		return &PausedError{Path: f.Path, Host: host, Done: done, Total: f.Size}
	case renewed >= maxRenewals:
		return sdk.Errorf(sdk.Unauthorized, "%s refuses each new address", host)
	}
	s, err := f.run.Renew(ctx, f.File)
	if err != nil {
		return err
	}
	if err := checkSource(f.File, s); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Parts, s.Fetches = slices.Clone(s.Parts), slices.Clone(s.Fetches)
	f.source, f.generation, f.renewed, f.direct = s, generation+1, renewed+1, nil
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}
