package task

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/mcp/internal/term"
	"github.com/seer-engine/seer/engine/sanitize"
)

const (
	// tickEvery is well below the shortest time after which common clients give up a
	// call that says nothing.
	tickEvery = 5 * time.Second
	// newsEvery bounds how often a client is told.
	newsEvery = 200 * time.Millisecond
)

// Running is something that a tool waits for. Its methods are called at any time, from
// other goroutines.
type Running interface {
	// Changed is closed with the next news. It is asked for before State and DrainOutput, so
	// that nothing is missed.
	Changed() <-chan struct{}
	// State is how far it has come.
	State() State
	// DrainOutput gives away what was printed and has not been told yet.
	DrainOutput() string
}

// State is how far something has come. What is said first goes before the rest.
type State struct {
	Waiting string // what it waits for, as long as it does: "queued: 2 calls go first"
	Bar     *term.Bar
	Items   int    // that it has given
	Item    string // the last of them
	Line    string // that was printed last
}

// Report keeps the client informed about what its tool waits for: of the progress where
// it asked for that, and of what is printed where it wants to log, under the name. The
// returned function ends that; it goes before the result is sent.
func Report(ctx context.Context, req *mcp.CallToolRequest, name string, what Running) func() {
	if req.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reporter{session: req.Session, token: req.Params.GetProgressToken(), name: name, what: what, start: time.Now()}
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
	name    string
	what    Running
	start   time.Time

	last float64 // progress that was told; it has to grow
	base float64 // what earlier bars have come to
	seen term.Bar
}

func (r *reporter) run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		changed := r.what.Changed()
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
	news := r.what.DrainOutput()
	if news == "" {
		return
	}
	p := &mcp.LoggingMessageParams{Level: "info", Logger: r.name, Data: sanitize.Text(news)} //nolint:staticcheck // for the versions of MCP that most clients speak
	_ = r.session.Log(ctx, p)                                                                //nolint:staticcheck // for the versions of MCP that most clients speak; who is gone need not know
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
	s := r.what.State()
	p := &mcp.ProgressNotificationParams{Progress: time.Since(r.start).Hours() / 1e3}
	switch {
	case s.Waiting != "":
		p.Message = s.Waiting
	case s.Bar != nil:
		b := *s.Bar
		if b.N < r.seen.N || b.Total != r.seen.Total && r.seen.N == r.seen.Total { // another bar
			r.base += r.seen.N
		}
		r.seen = b
		p.Progress, p.Total, p.Message = r.base+b.N, r.base+b.Total, b.Message
	case s.Items > 0:
		p.Progress = float64(s.Items)
		p.Message = fmt.Sprintf("item %d: %s", s.Items, reply.Cut(s.Item, 200))
	case s.Line != "":
		p.Message = s.Line
	default:
		p.Message = fmt.Sprintf("running for %.0f s", time.Since(r.start).Seconds())
	}
	if p.Progress <= r.last {
		p.Progress = math.Nextafter(r.last+1e-9, math.Inf(1))
	}
	if p.Total > 0 && p.Total < p.Progress {
		p.Total = p.Progress
	}
	r.last, p.Message = p.Progress, sanitize.Text(p.Message)
	return p
}
