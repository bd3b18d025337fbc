package guestapi

import (
	"context"
	"errors"
	"net/url"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// Host is the [Sender] that lets the host make the requests, within what the manifest names. The
// zero value is ready, and safe for concurrent use. Errors of the host's are *sdk.Error: what it
// refuses has the code Unauthorized or Invalid, and a passing fault Unavailable. A deadline that
// has passed is Unavailable and [context.DeadlineExceeded].
type Host struct {
	// KeepRedirects returns answers that redirect, instead of having the host follow them.
	KeepRedirects bool

	pump *stream.Pump // nil = that of the instance
}

var errClosed = errors.New("the body of the answer has been closed")

// Send implements [Sender].
func (h Host) Send(ctx context.Context, m Message) (Reply, error) {
	u, err := url.Parse(m.URL)
	if err != nil {
		return Reply{}, sdk.Errorf(sdk.Invalid, "%.200q is not an address", m.URL)
	}
	pump := h.pump
	if pump == nil {
		pump = stream.Instance()
	}
	s, err := pump.OpenHTTP(ctx, sdk.HTTPOpen{
		Method: m.Method, URL: m.URL, Headers: m.Header, Body: m.Body != nil, ContentLength: int64(len(m.Body)),
		TimeoutSeconds: stream.Timeout(ctx), KeepRedirects: h.KeepRedirects,
	})
	if err != nil {
		return Reply{}, stream.Failure(ctx, u.Host, err)
	}
	if m.Body != nil {
		go send(s, m.Body)
	}
	head := s.Head()
	if head == nil {
		return Reply{}, stream.Failure(ctx, u.Host, s.Ended().Unanswered())
	}
	header := Header{}
	for name, values := range head.Headers {
		header[canonical(name)] = append(header[canonical(name)], values...)
	}
	return Reply{head.Status, header, s.Body(ctx, u.Host, errClosed)}, nil
}

// send hands over a body. Whoever reads the answer finds why the stream has ended.
func send(s *stream.Stream, body []byte) {
	for len(body) > 0 {
		n := min(len(body), stream.Piece)
		if s.Send(body[:n], sdk.SendData) != nil {
			return
		}
		body = body[n:]
	}
	s.CloseSend()
}
