package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// ErrMismatch is matched by errors.Is when a file was downloaded twice and is still not
// the one of the plan. Its code is [sdk.Internal]: the source is wrong.
var ErrMismatch error = &sdk.Error{Code: sdk.Internal, Message: "not the file that was promised"}

// PausedError says that the address of a file cannot be used any more, and that there is
// nobody to ask for another one. What has arrived is kept: the next run with a new
// address continues with it.
type PausedError struct {
	Path        string // of the file, or its name in errors
	Host        string
	Done, Total int64 // bytes of the file
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("download of %s is paused after %d of %d bytes: the address at %s has expired; start it again with a new address, it continues from there",
		e.Path, e.Done, e.Total, e.Host)
}

// Unwrap makes the code of the error [sdk.Unavailable].
func (e *PausedError) Unwrap() error {
	return &sdk.Error{Code: sdk.Unavailable, Message: "address expired"}
}

var (
	errStalled  = errors.New("no data for too long")
	errNoRanges = errors.New("cannot send a part of the file")
	errExpired  = errors.New("address expired")
	errMoved    = errors.New("the address that a redirect had led to is refused")
)

// statusError is an answer that has no content.
func statusError(resp *http.Response, host string) error {
	e := sdk.Errorf(httpretry.Code(resp.StatusCode), "%s answered %s", host, resp.Status)
	if e.Code == sdk.Invalid {
		e.Code = sdk.Internal // the request was the plan's, not the user's
	}
	e.Seconds = waitAsked(resp).Seconds()
	return e
}

// limited finds how much is left of a rate limit, and when there is more.
var limited = lazyregexp.New(`r=(\d+)\s*;\s*t=(\d+)`)

// waitAsked is how long an answer asks to wait: by RateLimit if nothing is left, and else
// by Retry-After.
func waitAsked(resp *http.Response) time.Duration {
	if m := limited().FindStringSubmatch(resp.Header.Get("RateLimit")); m != nil && m[1] == "0" {
		if t, err := strconv.ParseInt(m[2], 10, 31); err == nil {
			return time.Duration(t+1) * time.Second
		}
	}
	return httpretry.RetryAfter(resp)
}

// passing reports whether an error may be gone at the next attempt.
func passing(err error) bool {
	var paused *PausedError
	if errors.As(err, &paused) {
		return false
	}
	code := sdk.CodeOf(err)
	return code == sdk.Unavailable || code == sdk.RateLimited
}

func after(err error) time.Duration {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e.After()
	}
	return 0
}

// networkError says why a connection broke.
func networkError(ctx context.Context, host string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "%s: %v", host, withoutURL(err))
}

// diskError gives full disks their own error.
func diskError(path string, err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) && pathErr.Path != "" {
		path = pathErr.Path
	}
	return state.NoSpace(path, err)
}
