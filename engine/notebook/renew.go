package notebook

import (
	"context"
	"net/http"
)

// Renew gives a server that runs in a copy of its sandbox a token and a base URL of its
// own, and its kernels random numbers of their own: once it has answered, the token of
// this client, its address, and cookies of browsers open nothing any more.
func (c *Client) Renew(ctx context.Context, token, baseURL string) error {
	return c.json(ctx, request{method: http.MethodPost, path: "/renew", body: map[string]string{"token": token, "base_url": baseURL}}, nil)
}
