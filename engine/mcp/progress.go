package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is well below the minute after which common clients give a silent
// call up.
const progressEvery = 10 * time.Second

// keepAlive tells the client that a long call is still running, where it asked to
// be told. The returned function ends that before the result is sent.
func keepAlive(ctx context.Context, req *mcp.CallToolRequest) func() {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		start, tick := time.Now(), time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			seconds := time.Since(start).Seconds()
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // a client that is gone cancels ctx
				ProgressToken: token, Progress: seconds, Message: fmt.Sprintf("running for %.0f s", seconds),
			})
		}
	}()
	return func() {
		cancel()
		wg.Wait()
	}
}
