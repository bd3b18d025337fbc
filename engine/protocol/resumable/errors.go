package resumable

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrLost means that the other side does not know the session any more: it was
// started again, or has waited too long for a carrier. What was on its way may or
// may not have arrived.
var ErrLost = errors.New("the other side no longer knows this connection: it was started again, or the connection was cut for too long")

// ErrEnded means that the other side has ended the session before its stream was
// at an end.
var ErrEnded = errors.New("the connection was ended by the other side")

// GaveUpError is a session that found no way through for too long.
type GaveUpError struct {
	After time.Duration
	Err   error // of the last try
}

func (e *GaveUpError) Error() string {
	return fmt.Sprintf("the connection was cut and could not be made again within %v: %v", e.After.Round(time.Second), e.Err)
}

func (e *GaveUpError) Unwrap() error { return e.Err }

// RefusedError is an answer other than a websocket.
type RefusedError struct {
	Status int
	Header http.Header
	Body   []byte // its beginning
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the answer to a websocket was HTTP status %d: %.200q", e.Status, e.Body)
}

// Marker is the header of everything that the runtime itself answers. An answer
// without it was made by something in between.
const Marker = "Seer"

// Ours reports whether the other side itself has answered.
func (e *RefusedError) Ours() bool { return e.Header.Get(Marker) != "" }

// passing reports whether the same request may get another answer soon.
func (e *RefusedError) passing() bool {
	return PassingStatus(e.Status) && !(e.Ours() && e.Status == http.StatusNotFound)
}

// PassingStatus reports whether a tunnel answers with a status while it does not
// get through to its machine.
func PassingStatus(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}

// final reports whether trying again is of no use.
func final(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && !refused.passing()
}

// violation is a peer that does not keep to the conversation.
func violation(format string, args ...any) error {
	return fmt.Errorf("the other side breaks the conversation of the link: "+format, args...)
}
