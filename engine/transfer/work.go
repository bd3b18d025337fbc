package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	maxTries    = 8                // faults in a row without a byte
	maxRenewals = 3                // without a byte
	longestWait = 10 * time.Minute // that a server may ask for; rate limits have windows of five
	largestSpan = 8                // blocks of a request
)

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
		case f.Size == 0 && f.empty && len(f.flights) == 0, f.Size > 0 && f.written.bytes() == f.Size:
			return false, nil
		case f.free():
			return true, nil
		}
		f.changed.Wait()
	}
	return false, ctx.Err()
}

// attempt does one job. Its error is one that no other attempt can mend.
func (f *file) attempt(ctx context.Context) error {
	source, generation, err := f.current(ctx)
	if err != nil {
		return f.judge(ctx, err, nil, f.run.clock.Now())
	}
	if len(source.Parts) == 0 { // nobody has to be asked
		if err := f.store(ctx, 0, source.Content); err != nil {
			return err
		}
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
	j := f.claim(source, generation, h)
	if j == nil { // somebody else was faster
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
	tries, most := f.tries, maxTries
	if len(f.written) == 0 {
		most = f.run.Tries
	}
	f.mu.Unlock()
	if tries >= most {
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

// restart goes on with one connection that reads the whole file.
func (f *file) restart(j *job, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.whole || len(f.source.Parts) != 1 || j.pieces != nil {
		return sdk.Errorf(sdk.Unsupported, "%s %v, and the file is made of parts; use another source", hostOf(j.fetch.URL), err)
	}
	f.whole = true
	return nil
}
