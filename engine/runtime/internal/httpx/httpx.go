// Package httpx reads the requests of the runtime's protocol, and writes its answers and
// errors.
package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// maxJSON is the most that is read of a request with JSON. Files and calls have
// no such limit.
const maxJSON = 64 << 20

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that is gone needs no answer
	return nil
}

// ErrorBody is the answer that reports an error.
type ErrorBody struct {
	Error any `json:"error"`
}

// WriteError answers with an error. Its text may name paths of the machine, and
// never holds a secret.
func WriteError(w http.ResponseWriter, err error) {
	var call *protocol.CallError
	if errors.As(err, &call) {
		_ = WriteJSON(w, http.StatusUnprocessableEntity, ErrorBody{call})
		return
	}
	e := asError(err)
	_ = WriteJSON(w, e.Code.Status(), ErrorBody{e})
}

// asError classifies the errors of the operating system.
func asError(err error) *protocol.Error {
	var e *protocol.Error
	code := protocol.Internal
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return protocol.Errorf(protocol.NoSpace, "the machine's disk is full: %v", err)
	case errors.Is(err, fs.ErrNotExist):
		code = protocol.NotFound
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		code = protocol.Conflict
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG),
		errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ELOOP), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code = protocol.Invalid
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
		code = protocol.Unavailable
	}
	var at *fs.PathError
	if errors.As(err, &at) && at.Error() == err.Error() { // without the name of the system call
		return protocol.Errorf(code, "%s: %v", at.Path, at.Err)
	}
	return protocol.Errorf(code, "%v", err)
}

// Abort cuts an answer that has begun, so that the client does not take a part
// for the whole.
func Abort(error) { panic(http.ErrAbortHandler) }

// ReadJSON decodes a request strictly: an unknown field is a mistake.
func ReadJSON(r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJSON))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return protocol.Errorf(protocol.Invalid, "the request is not the JSON that is expected: %v", err)
	}
	return nil
}

// WriteDone answers that a request was done which has no other answer.
func WriteDone(w http.ResponseWriter) error { return WriteJSON(w, http.StatusOK, struct{}{}) }

// BeginRecords starts an answer of output records that begins at an offset.
func BeginRecords(w http.ResponseWriter, offset int64) func() error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.Header().Set(protocol.HeaderOffset, strconv.FormatInt(offset, 10))
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w).Flush
}

// Handler answers a request, or says why not.
type Handler = func(http.ResponseWriter, *http.Request) error

// Found answers a request about what get finds by the part of the path with this name.
func Found[T any](part string, get func(string) (T, error), answer func(http.ResponseWriter, *http.Request, T) error) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := get(r.PathValue(part))
		if err != nil {
			return err
		}
		return answer(w, r, v)
	}
}

// Seconds converts a number of seconds, as requests have it.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
