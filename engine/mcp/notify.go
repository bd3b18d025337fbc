package mcp

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// tickEvery is well below the shortest time after which common clients give up a
	// call that says nothing.
	tickEvery = 5 * time.Second
	// newsEvery bounds how often a client is told.
	newsEvery = 200 * time.Millisecond
)

// report keeps the client informed about a call: of its progress where it asked for
// that, and of what is printed where it wants to log. The returned function ends
// that before the result is sent.
func (s *server) report(ctx context.Context, req *mcp.CallToolRequest, j *job) func() {
	if req.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reporter{session: req.Session, token: req.Params.GetProgressToken(), job: j, start: time.Now()}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		r.run(ctx)
	}()
	return func() {
		cancel()
		wg.Wait()
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		r.log(last)
	}
}

type reporter struct {
	session *mcp.ServerSession
	token   any
	job     *job
	start   time.Time

	last float64 // progress that was told; it has to grow
	base float64 // what earlier bars have come to
	seen bar
}

func (r *reporter) run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		r.job.mu.Lock()
		changed := r.job.changed
		r.job.mu.Unlock()
		r.log(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(newsEvery):
			}
		}
		r.progress(ctx)
	}
}

// log passes on what has been printed. The SDK leaves out what the client does not
// want.
func (r *reporter) log(ctx context.Context) {
	r.job.mu.Lock()
	news := r.job.screen.told()
	r.job.mu.Unlock()
	if news == "" {
		return
	}
	p := &mcp.LoggingMessageParams{Level: "info", Logger: r.job.tool.fn.Name, Data: news} //nolint:staticcheck // for the versions of MCP that most clients speak
	_ = r.session.Log(ctx, p)                                                             //nolint:staticcheck // for the versions of MCP that most clients speak; who is gone need not know
}

func (r *reporter) progress(ctx context.Context) {
	if r.token == nil {
		return
	}
	p := r.next()
	p.ProgressToken = r.token
	_ = r.session.NotifyProgress(ctx, p) // a client that is gone cancels ctx
}

// next is the present progress. Without a bar it is a fraction of the time, too small
// to be above what a bar that comes later begins with.
func (r *reporter) next() *mcp.ProgressNotificationParams {
	j := r.job
	j.mu.Lock()
	defer j.mu.Unlock()
	p := &mcp.ProgressNotificationParams{Progress: time.Since(r.start).Hours() / 1e3}
	switch {
	case j.position != nil:
		p.Message = "queued: " + before(*j.position)
	case j.screen.bar != nil:
		b := *j.screen.bar
		if b.N < r.seen.N || b.Total != r.seen.Total && r.seen.N == r.seen.Total { // another bar
			r.base += r.seen.N
		}
		r.seen = b
		p.Progress, p.Total, p.Message = r.base+b.N, r.base+b.Total, b.Message
	case len(j.items) > 0:
		p.Progress = float64(len(j.items) + j.omitted)
		p.Message = fmt.Sprintf("item %d: %s", len(j.items)+j.omitted, cut(string(j.items[len(j.items)-1]), 200))
	case j.screen.lastLine() != "":
		p.Message = j.screen.lastLine()
	default:
		p.Message = fmt.Sprintf("running for %.0f s", time.Since(r.start).Seconds())
	}
	if p.Progress <= r.last {
		p.Progress = math.Nextafter(r.last+1e-9, math.Inf(1))
	}
	if p.Total > 0 && p.Total < p.Progress {
		p.Total = p.Progress
	}
	r.last = p.Progress
	return p
}
