package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seer-engine/seer/engine/protocol"
)

// Tokens is the client of the tokens that open the services of a machine. Its methods take
// the admin token.
type Tokens struct{ *transport }

// List lists the tokens of a service and what they have been used for. It takes
// the admin token.
func (c Tokens) List(ctx context.Context, service string) ([]protocol.Token, error) {
	return list[protocol.Token](ctx, c.transport, servicePath(service)+"/tokens", nil, "tokens")
}

// Put adds a token to a service, or gives one new limits. It takes the admin
// token.
func (c Tokens) Put(ctx context.Context, service string, t protocol.Token) error {
	t.Use = nil
	return c.json(ctx, http.MethodPut, tokenPath(service, t.ID), nil, t, nil)
}

// Delete revokes a token; connections made with it are closed. It takes the
// admin token.
func (c Tokens) Delete(ctx context.Context, service, id string) error {
	return c.json(ctx, http.MethodDelete, tokenPath(service, id), nil, nil, nil)
}

func tokenPath(service, id string) string {
	return servicePath(service) + "/tokens/" + url.PathEscape(id)
}
