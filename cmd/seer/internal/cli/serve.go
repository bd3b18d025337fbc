package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// ServeUntil serves until ctx ends, which is no error. It cuts streams that are open then.
func ServeUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
