package meter

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// stopLimit limits the time in which an agent may read the rest of an answer when the proxy ends.
const stopLimit = 2 * time.Second

// Serve serves a proxy at a listener, a Unix socket or one of loopback. When ctx ends, it closes the
// listener and ends the requests in progress. It returns after it has counted and reported all
// requests. The error is nil after ctx has ended.
func Serve(ctx context.Context, l net.Listener, p *Proxy) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var open gate
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if open.enter() {
				defer open.leave()
				p.ServeHTTP(w, r)
			}
		}),
		BaseContext:       func(net.Listener) context.Context { return inner },
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	err := server.Serve(l)
	cancel()
	limit, end := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer end()
	if server.Shutdown(limit) != nil {
		_ = server.Close()
	}
	open.close()
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// gate counts the requests in progress, and refuses new ones after close.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// enter counts a request in, and reports whether the gate is open. Only then the caller must call
// leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *gate) leave() { g.inside.Done() }

// close refuses new requests, and waits for those in progress.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}
