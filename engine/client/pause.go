package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/seer-engine/seer/engine/protocol"
)

// Freeze is a frozen machine. It must be thawed.
type Freeze struct {
	protocol.Frozen
	c    *transport
	body interface{ Close() error }
}

// Freeze pauses every process of the machine and flushes files to disk, so that they can be
// copied. Requests that would change files through the runtime wait. The machine continues by
// itself after [protocol.FreezeLimit], or when the caller is gone; ctx must therefore live
// until [Freeze.Thaw]. [protocol.Conflict] means that it is frozen already, or that a file is
// being written through the runtime for longer than 10 s. It takes the admin token.
func (c *Client) Freeze(ctx context.Context) (*Freeze, error) {
	resp, err := c.do(ctx, http.MethodPost, "/v1/freeze", nil, nil)
	if err != nil {
		return nil, err
	}
	f := &Freeze{c: c.transport, body: resp.Body}
	if err := json.NewDecoder(resp.Body).Decode(&f.Frozen); err != nil {
		resp.Body.Close()
		return nil, c.unreachable(protocol.NoEOF(err))
	}
	return f, nil
}

// Thaw lets the machine continue. It fails as [protocol.Conflict] if the machine has already
// continued by itself, even if somebody has frozen it again since: then the copy may be
// inconsistent.
func (f *Freeze) Thaw(ctx context.Context) error {
	defer f.body.Close()
	var q url.Values
	if f.ID != "" {
		q = url.Values{"id": {f.ID}}
	}
	return f.c.json(ctx, http.MethodPost, "/v1/thaw", q, nil, nil)
}

// Park has the machine close its socket and stand still: the answer comes before. When it is
// parked, it makes the file park-ID in the folder of the socket, and waits there for go-ID
// with a [protocol.Renewal]. It then listens again, and continues after [Client.Thaw] or
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

// Thaw lets a parked machine continue. [protocol.Conflict] means that the machine has already
// continued by itself, so that the copy may be inconsistent.
func (c *Client) Thaw(ctx context.Context) error {
	return c.json(ctx, http.MethodPost, "/v1/thaw", nil, nil, nil)
}
