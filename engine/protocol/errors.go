package protocol

import (
	"errors"
	"fmt"
	"net/http"
)

// Code classifies an [Error]. The set is closed.
type Code string

// The codes of an [Error].
const (
	Invalid      Code = "invalid"      // the request can never work as it stands
	Unauthorized Code = "unauthorized" // no token, or a wrong one
	Forbidden    Code = "forbidden"    // the token is not meant for this
	NotFound     Code = "not_found"    // the named thing does not exist
	Conflict     Code = "conflict"     // the thing is not in a state that allows it
	Failed       Code = "failed"       // the user's code or command failed
	Unsupported  Code = "unsupported"  // this machine cannot do it
	Unavailable  Code = "unavailable"  // a passing fault; ask again
	Internal     Code = "internal"     // a defect of the runtime
	NoSpace      Code = "no_space"     // the machine's disk is full
)

// Status is the HTTP status that carries the code.
func (c Code) Status() int {
	switch c {
	case Invalid:
		return http.StatusBadRequest
	case Unauthorized:
		return http.StatusUnauthorized
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Conflict:
		return http.StatusConflict
	case Failed:
		return http.StatusUnprocessableEntity
	case Unsupported:
		return http.StatusUpgradeRequired
	case Unavailable:
		return http.StatusServiceUnavailable
	case NoSpace:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// CodeOfStatus is the reverse of [Code.Status], for an answer that did not come
// from the runtime but from something in between.
func CodeOfStatus(status int) Code {
	for _, c := range []Code{Invalid, Unauthorized, Forbidden, NotFound, Conflict, Failed, Unsupported, Unavailable, NoSpace} {
		if c.Status() == status {
			return c
		}
	}
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return Unavailable
	}
	return Internal
}

// Error is an answer of the runtime other than success.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Errorf makes an [Error] with the given code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is(err, &Error{Code: NotFound}) match on the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// CodeOf reports the code of the first [Error] in err's chain, and the empty
// code where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// CallCode classifies a [CallError]. The set is closed.
type CallCode string

// The codes of a [CallError].
const (
	CallRaised          CallCode = "raised"           // the function raised; Type and Traceback are the user's
	CallLoadFailed      CallCode = "load_failed"      // the file could not be loaded
	CallUnknownFunction CallCode = "unknown_function" // nothing of that name is exposed
	CallBadArguments    CallCode = "bad_arguments"    // the arguments do not fit the signature
	CallUnserialisable  CallCode = "unserialisable"   // the result cannot be sent
	CallTimeout         CallCode = "timeout"          // it took longer than the caller allowed
	CallCancelled       CallCode = "cancelled"        // the caller went away
	CallInterrupted     CallCode = "interrupted"      // it may have had effects and has no result; never repeated by Seer
	CallExited          CallCode = "exited"           // the function called exit()
	CallRefused         CallCode = "refused"          // the token's limits forbid it; it did not run
	CallHandleGone      CallCode = "handle_gone"      // a handle that was released, has expired or was in a worker that died
	CallUnknown         CallCode = "unknown_call"     // no call has the name, or its answer is not kept any more
	CallBusy            CallCode = "busy"             // it did not run, and may be sent again
)

// CallError is a call, or the loading of an interface, that failed in the
// sandbox.
type CallError struct {
	Code      CallCode `json:"code"`
	Type      string   `json:"type,omitempty"` // the exception's class
	Message   string   `json:"message"`
	Traceback string   `json:"traceback,omitempty"` // the user's own frames
}

func (e *CallError) Error() string {
	if e.Type != "" {
		return e.Type + ": " + e.Message
	}
	return e.Message
}

// Is makes errors.Is(err, &CallError{Code: CallRaised}) match on the code alone.
func (e *CallError) Is(target error) bool {
	t, ok := target.(*CallError)
	return ok && t.Message == "" && t.Code == e.Code
}
