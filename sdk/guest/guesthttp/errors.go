package guesthttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// failure is what a caller gets to see of err. Both sides keep the deadline, and
// whoever notices first, the error is the same.
func failure(req *http.Request, err error) error {
	deadline, limited := req.Context().Deadline()
	late := limited && !time.Now().Before(deadline)
	var e *sdk.Error
	if errors.Is(err, context.DeadlineExceeded) || (late && errors.As(err, &e)) {
		return timeout{sdk.Errorf(sdk.Unavailable, "%s did not answer in time", req.URL.Host)}
	}
	return err
}

// timeout is a passing fault and a [net.Error] that says so.
type timeout struct{ fault *sdk.Error }

func (t timeout) Error() string   { return t.fault.Error() }
func (t timeout) Timeout() bool   { return true }
func (t timeout) Temporary() bool { return true }
func (t timeout) Unwrap() []error { return []error{t.fault, context.DeadlineExceeded} }
