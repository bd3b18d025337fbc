package rpc

import (
	"context"

	"github.com/seer-engine/seer/engine"
)

// Forked is the answer to a fork that has made these copies and this error, and how many sandboxes
// the server has afterwards.
func Forked(ctx context.Context, copies []*engine.Sandbox, failed error) (result ListResult, open int, err error) {
	s := &Server{open: map[string]*engine.Sandbox{}, owned: map[string]bool{}}
	result, err = s.forked(ctx, copies, failed)
	return result, len(s.open), err
}
