package notebook

import (
	"context"
	"net/http"
)

// Renew gives a server that runs in a copy of its sandbox a token of its own, and its
// kernels random numbers of their own: once it has answered, the token of this client, and
// cookies of browsers, open nothing any more.
func (c *Client) Renew(ctx context.Context, token string) error {
	return c.json(ctx, request{method: http.MethodPost, path: "/renew", body: map[string]string{"token": token}}, nil)
}
