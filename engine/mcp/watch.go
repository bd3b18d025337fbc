package mcp

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watchPause is between two tries to reach a service that is away.
const watchPause = 5 * time.Second

// watch follows the interface, so that clients are told at once when it is served
// again.
func (s *server) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.change(ctx); err == nil {
			continue
		} else if ctx.Err() == nil {
			s.log.Debug("the service cannot be watched", "service", s.link.service(), "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// change waits for another interface than the present one, and takes it over.
func (s *server) change(ctx context.Context) error {
	client, name, err := s.link.get()
	if err != nil {
		return err
	}
	s.mu.Lock()
	hash := s.face.CodeHash
	s.mu.Unlock()
	service, err := client.Services().WaitChange(ctx, name, hash)
	if err != nil {
		return err
	}
	return s.update(*service.Interface)
}

// updated tells those who have subscribed to a resource that it has changed.
func (s *server) updated(uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // who is gone need not know
}
