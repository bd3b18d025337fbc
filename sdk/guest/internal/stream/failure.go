package stream

import (
	"context"
	"errors"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Failure is what the maker of an HTTP request to a host gets to see of err. Both sides keep the
// deadline, and the error is the same whichever side notices first.
func Failure(ctx context.Context, host string, err error) error {
	deadline, limited := ctx.Deadline()
	late := limited && !time.Now().Before(deadline)
	var e *sdk.Error
	if errors.Is(err, context.DeadlineExceeded) || (late && errors.As(err, &e)) {
		return timeout{sdk.Errorf(sdk.Unavailable, "%s did not answer in time", host)}
	}
	return err
}

// Unanswered is the error of an HTTP request whose stream has ended without a head.
func (e *End) Unanswered() error {
	if e.Err != nil {
		return e.Err
	}
	return sdk.Errorf(sdk.Internal, "the host ended the request without an answer")
}

// timeout is a passing fault and a [net.Error] that says so.
type timeout struct{ fault *sdk.Error }

func (t timeout) Error() string   { return t.fault.Error() }
func (t timeout) Timeout() bool   { return true }
func (t timeout) Temporary() bool { return true }
func (t timeout) Unwrap() []error { return []error{t.fault, context.DeadlineExceeded} }
