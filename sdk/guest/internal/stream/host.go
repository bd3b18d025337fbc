// Package stream moves the data of HTTP requests and gRPC calls between a guest and
// its host: the shims of packages guesthttp, guestgrpc, guestssh and guestkube stand on it.
//
// A guest has one thread. A host function that waits stops all goroutines, so only
// the [Pump] waits, for a short time, and only when no other goroutine can run.
package stream

import (
	"context"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Host is what sdk/abi.go says about streams, as Go functions.
type Host interface {
	OpenHTTP(sdk.HTTPOpen) (int64, error)
	OpenGRPC(sdk.GRPCOpen) (int64, error)
	OpenSSH(sdk.SSHOpen) (int64, error)
	OpenKube(sdk.KubeOpen) (int64, error)
	Send(stream int64, data []byte, flags int32) int32
	Credit(stream, bytes int64)
	Wait(limit time.Duration) []byte // a block of events; empty when there was none in time
}

// Timeout is what is left of the time of ctx, in seconds; 0 = no limit.
func Timeout(ctx context.Context) float64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline).Seconds(), 0.001)
}
