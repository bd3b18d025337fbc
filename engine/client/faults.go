package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// transportError is a request that got no answer.
type transportError struct {
	endpoint string
	err      error
}

func (e *transportError) Error() string {
	if errors.Is(e.err, resumable.ErrLost) {
		return fmt.Sprintf("the runtime of the sandbox at %s was started again, or has waited too long for this connection, which is lost", e.endpoint)
	}
	cause := e.err
	var op *net.OpError
	if errors.As(cause, &op) { // which would name the endpoint again
		cause = op.Err
	}
	return fmt.Sprintf("the sandbox at %s does not answer: %v", e.endpoint, cause)
}

func (e *transportError) Unwrap() error { return e.err }

// As presents the fault as an [*protocol.Error] with code [protocol.Unavailable], so that callers
// have one way of asking.
func (e *transportError) As(target any) bool {
	t, ok := target.(**protocol.Error)
	if ok {
		*t = &protocol.Error{Code: protocol.Unavailable, Message: e.Error()}
	}
	return ok
}

// tunnelError is an answer that did not come from the machine but from something
// before it.
type tunnelError struct {
	endpoint  string
	status    int
	body      []byte
	websocket bool
}

func (e *tunnelError) Error() string {
	status := fmt.Sprintf("HTTP status %d %s", e.status, http.StatusText(e.status))
	switch {
	case e.unknown():
		return fmt.Sprintf("the tunnel at %s does not know the machine (%s): it is not up yet, or has ended", e.endpoint, status)
	case resumable.PassingStatus(e.status):
		return fmt.Sprintf("the tunnel at %s does not get through to the machine (%s)", e.endpoint, status)
	case e.websocket:
		return fmt.Sprintf("something before the sandbox at %s does not let websockets pass (%s): %.200s; Seer needs them there", e.endpoint, status, bytes.TrimSpace(e.body))
	}
	return fmt.Sprintf("something before the sandbox at %s refused the request (%s): %.200s", e.endpoint, status, bytes.TrimSpace(e.body))
}

// unknown tells a tunnel that has no such machine.
func (e *tunnelError) unknown() bool { return e.status == http.StatusNotFound }

func (e *tunnelError) As(target any) bool {
	t, ok := target.(**protocol.Error)
	if !ok {
		return false
	}
	code := protocol.Unsupported
	if resumable.PassingStatus(e.status) {
		code = protocol.Unavailable
	}
	*t = &protocol.Error{Code: code, Message: e.Error()}
	return true
}

// unreachable keeps the cause in the chain and drops the noise of *url.Error.
func (c *transport) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var gone *goneError
	if errors.As(err, &gone) {
		return gone
	}
	if protocol.CodeOf(err) != "" { // it says all that itself
		return err
	}
	return &transportError{endpoint: c.endpoint.text, err: err}
}

// passing reports whether a request may work when it is made again.
func passing(err error) bool {
	return protocol.CodeOf(err) == protocol.Unavailable || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) || lost(err)
}

// Broken reports whether an error is of the way to the machine, and no answer of it.
func Broken(err error) bool { return passing(err) || Ended(err) }

// lost reports whether a connection through a tunnel broke for good while
// something was on its way.
func lost(err error) bool {
	var gave *resumable.GaveUpError
	return errors.Is(err, resumable.ErrLost) || errors.Is(err, resumable.ErrEnded) || errors.As(err, &gave)
}

// nobodyListens is of a Unix socket, or of a port where nothing stands between.
func nobodyListens(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// Ended reports whether an error of a [Client] means that the machine has ended,
// as far as can be told from outside: nobody listens at its socket, which a loader
// keeps open while runtimes come and go, or its tunnel has known nothing of it for
// as long as the client tried, or the provider has said so (see [Client.Fate]). A tunnel that only
// does not get through is not that.
func Ended(err error) bool {
	var gone *goneError
	if errors.As(err, &gone) {
		return true
	}
	var t *transportError
	if errors.As(err, &t) && strings.HasPrefix(t.endpoint, "unix:") {
		return nobodyListens(err)
	}
	var u *tunnelError
	var dns *net.DNSError
	return errors.As(err, &u) && u.unknown() || errors.As(err, &dns) && dns.IsNotFound
}
