package client

import (
	"context"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
)

// Usage reads what the machine uses.
func (c *Client) Usage(ctx context.Context) (protocol.Usage, error) {
	var u protocol.Usage
	return u, c.json(ctx, http.MethodGet, "/v1/usage", nil, nil, &u)
}
