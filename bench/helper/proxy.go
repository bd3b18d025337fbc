package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// proxy passes TCP connections on, and holds what goes each way back for half a round trip. A
// new connection costs a round trip of its own, as on a line of that length.
type proxy struct {
	listener net.Listener
	to       string
	delay    time.Duration // of a round trip
	cancel   context.CancelFunc
	work     sync.WaitGroup
}

// A connection has at most window bytes under way, as the system's buffers allow it.
const (
	piece  = 64 << 10
	window = 4 << 20
)

func newProxy(ctx context.Context, to string, delay time.Duration) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, to: to, delay: delay}
	ctx, p.cancel = context.WithCancel(ctx)
	p.work.Go(func() { p.accept(ctx) })
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.cancel()
	_ = p.listener.Close()
	p.work.Wait()
}

func (p *proxy) accept(ctx context.Context) {
	for {
		c, err := p.listener.Accept()
		if err != nil { // it is closed
			return
		}
		p.work.Go(func() { p.connect(ctx, c) })
	}
}

func (p *proxy) connect(ctx context.Context, client net.Conn) {
	defer client.Close()
	if !pause(ctx, p.delay) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = errors.Join(client.Close(), server.Close()) })()
	var both sync.WaitGroup
	both.Go(func() { pass(ctx, client, server, p.delay/2) })
	both.Go(func() { pass(ctx, server, client, p.delay/2) })
	both.Wait()
}

// late are bytes that are to arrive at a time.
type late struct {
	data []byte
	due  time.Time
}

// pass copies one direction, until either side ends.
func pass(ctx context.Context, from, to net.Conn, delay time.Duration) {
	queue := make(chan late, window/piece)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(queue)
		for {
			buf := make([]byte, piece)
			n, err := from.Read(buf)
			if n > 0 {
				queue <- late{buf[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	})
	failed := false
	for l := range queue {
		if failed || !pause(ctx, time.Until(l.due)) {
			continue // the reader must not wait
		}
		if _, err := to.Write(l.data); err != nil {
			failed = true
			_ = from.Close()
		}
	}
	reader.Wait()
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// pause waits, and reports whether it has waited to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
