package sdk

import (
	"errors"
	"fmt"
	"time"
)

// Code classifies an [Error]. The set is closed: a host maps anything else to
// [Internal].
type Code string

// The codes that cross the boundary between a plugin and the engine.
const (
	NotFound     Code = "not_found"    // the named thing does not exist
	Invalid      Code = "invalid"      // the request can never work as it stands
	Unauthorized Code = "unauthorized" // missing, wrong or insufficient credential
	NoCapacity   Code = "no_capacity"  // nothing of the wanted kind is free now
	RateLimited  Code = "rate_limited" // ask again after Error.After
	Unavailable  Code = "unavailable"  // a passing fault; ask again
	Unsupported  Code = "unsupported"  // this backend cannot do it at all
	Internal     Code = "internal"     // a defect in the plugin or backend
)

// Error is the only error that crosses the boundary. Message is one sentence
// for a person: what failed and, where it is known, what to do about it.
type Error struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Seconds float64 `json:"after_seconds,omitempty"` // for RateLimited and Unavailable: earliest useful retry
}

// Errorf makes an [Error] with the given code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Message }

// After is how long to wait before the next attempt; zero means unknown.
func (e *Error) After() time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

// Is makes errors.Is(err, &Error{Code: NotFound}) match on the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// CodeOf reports the code of the first [Error] in err's chain, or [Internal].
// It is the empty code for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) && e.Code != "" {
		return e.Code
	}
	return Internal
}
