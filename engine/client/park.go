package client

import (
	"context"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
)

// Park has the machine close its socket and stand still: the answer comes before. When it
// is parked, it makes the file park-ID in the folder of the socket, and waits there for
// go-ID with a [protocol.Renewal]. It then listens again, and goes on after [Client.Thaw] or
// [protocol.ParkLimit]. A machine that has found neither file is a copy that nobody wanted,
// and ends.
//
// Nothing else moves then: otherwise it goes on, and that is a [protocol.Conflict]. It is
// [protocol.Unsupported] where the machine does not listen on a Unix socket, and
// [protocol.Conflict] as for [Client.Freeze]. It takes the admin token.
func (c *Client) Park(ctx context.Context, req protocol.ParkRequest) (protocol.Frozen, error) {
	var f protocol.Frozen
	return f, c.json(ctx, http.MethodPost, "/v1/park", nil, req, &f)
}

// Thaw has a parked machine go on. [protocol.Conflict] means that it went on before by itself, so
// that what was copied meanwhile may not be consistent.
func (c *Client) Thaw(ctx context.Context) error {
	return c.json(ctx, http.MethodPost, "/v1/thaw", nil, nil, nil)
}
