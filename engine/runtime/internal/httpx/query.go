package httpx

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seer-engine/seer/engine/protocol"
)

// Query reads the query of a request. A value that is not as it must be reads as its
// default; [Query.Err] is the first such mistake.
type Query struct {
	url.Values
	request *http.Request
	err     error
}

// QueryOf returns the query of a request.
func QueryOf(r *http.Request) *Query { return &Query{Values: r.URL.Query(), request: r} }

// Err returns the first mistake in what was read.
func (q *Query) Err() error { return q.err }

func (q *Query) mistake(format string, args ...any) {
	if q.err == nil {
		q.err = protocol.Errorf(protocol.Invalid, format, args...)
	}
}

// Is reports whether the value is 1.
func (q *Query) Is(name string) bool { return q.Get(name) == "1" }

// Int is a number of at least 0, which is the default.
func (q *Query) Int(name string) int64 {
	if !q.Has(name) {
		return 0
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 {
		q.mistake("%s=%s is not a number of at least 0", name, q.Get(name))
		return 0
	}
	return n
}

// Wait returns the request's context for the seconds that the client is ready to wait; the
// default is 0.
func (q *Query) Wait() (context.Context, context.CancelFunc) {
	wait := 0.0
	if text := q.Get("wait"); text != "" {
		var err error
		if wait, err = strconv.ParseFloat(text, 64); err != nil || !(wait >= 0 && wait <= 3600) {
			q.mistake("wait=%s is not a number of seconds up to 3600", text)
			wait = 0
		}
	}
	return context.WithTimeout(q.request.Context(), Seconds(wait))
}

// OptionalWait is Wait where the client has said how long it waits, and else the request's
// context.
func (q *Query) OptionalWait() (context.Context, context.CancelFunc) {
	if q.Has("wait") {
		return q.Wait()
	}
	return context.WithCancel(q.request.Context())
}

// Mode is an octal file mode.
func (q *Query) Mode(otherwise fs.FileMode) fs.FileMode {
	text := q.Get("mode")
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 {
		q.mistake("mode=%s is not an octal mode up to 0777", text)
		return otherwise
	}
	return fs.FileMode(n)
}
