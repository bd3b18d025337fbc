package resumable

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is one side of a session. It is a net.Conn; CloseWrite ends the stream in
// one direction. Close returns at once: what has been written is still delivered,
// in the background.
type Conn struct {
	addr   addr
	linger time.Duration
	ended  chan struct{} // closed when the session is over

	mu                  sync.Mutex
	readable, writable  sync.Cond
	sendable            sync.Cond // something for the carrier, or another carrier
	in                  ring      // received and not yet read
	out                 ring      // written and not yet acknowledged
	consumed            uint64    // read by the owner: offset of in
	acked               uint64    // read by the peer: offset of out
	inFin               bool      // the peer sends no more
	outFin, finAcked    bool      // nor do we
	closed              bool      // by the owner
	over                bool      // no carrier is wanted any more
	err                 error     // why it is over, for the owner
	tellEnd             bool      // the peer is to be told that it is over
	carrier             *carrier
	readLimit, writeLim deadline
}

type addr string

func (addr) Network() string  { return "link" }
func (a addr) String() string { return string(a) }

func newConn(name string, linger time.Duration) *Conn {
	c := &Conn{addr: addr(name), linger: linger, ended: make(chan struct{})}
	c.readable.L, c.writable.L, c.sendable.L = &c.mu, &c.mu, &c.mu
	return c
}

// Read reads what the peer has written. After its end, io.EOF is returned.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.readLimit.expired:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case c.in.n > 0:
			n := c.in.peek(0, p)
			c.in.discard(n)
			c.consumed += uint64(n)
			if k := c.carrier; k != nil && c.ackDue(k) {
				c.sendable.Signal()
			}
			return n, nil
		case c.inFin:
			return 0, io.EOF
		case c.over:
			return 0, c.err
		}
		c.readable.Wait()
	}
}

// Write hands p over for delivery. It blocks while the peer is a window behind.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for done := 0; ; {
		switch {
		case c.outFin:
			return done, net.ErrClosed
		case c.over:
			return done, c.err
		case c.writeLim.expired:
			return done, os.ErrDeadlineExceeded
		}
		if n := c.out.write(p[done:]); n > 0 {
			done += n
			c.sendable.Signal()
		}
		if done == len(p) {
			return done, nil
		}
		c.writable.Wait()
	}
}

// CloseWrite ends the stream to the peer, which reads io.EOF behind what was
// written before.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outFin {
		return net.ErrClosed
	}
	c.outFin = true
	c.wake()
	return nil
}

// Close ends the session. What has been written before is delivered if it can be
// within the time that the session lingers.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed, c.outFin = true, true
	c.consumed += uint64(c.in.n)
	c.in.discard(c.in.n)
	c.readLimit.stop()
	c.writeLim.stop()
	c.wake()
	if c.finAcked {
		c.finish(net.ErrClosed, true)
	} else if !c.over {
		c.lingerOn(c.acked)
	}
	return nil
}

// Delivered waits until a connection that has been closed has delivered what was
// written to it, or will not any more, or ctx ends. It does not wait for an open one.
func (c *Conn) Delivered(ctx context.Context) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if !closed {
		return
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
}

// lingerOn gives a closed session up that makes no progress.
func (c *Conn) lingerOn(acked uint64) {
	time.AfterFunc(c.linger, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.over:
		case c.acked > acked:
			c.lingerOn(c.acked)
		default:
			c.finish(net.ErrClosed, true)
		}
	})
}

// LocalAddr names the session.
func (c *Conn) LocalAddr() net.Addr { return c.addr }

// RemoteAddr names the session.
func (c *Conn) RemoteAddr() net.Addr { return c.addr }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline limits Read, also one that is waiting.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readLimit, &c.readable, t) }

// SetWriteDeadline limits Write, also one that is waiting.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeLim, &c.writable, t) }

func (c *Conn) setDeadline(d *deadline, cond *sync.Cond, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	d.set(cond, t)
	return nil
}

// wake makes everybody look again.
func (c *Conn) wake() {
	c.readable.Broadcast()
	c.writable.Broadcast()
	c.sendable.Broadcast()
}

// finish ends the session. The peer is told where that may be news to it.
func (c *Conn) finish(err error, tell bool) {
	if c.over {
		return
	}
	c.over, c.err, c.tellEnd = true, err, tell
	close(c.ended)
	c.wake()
}

// fail ends the session from outside.
func (c *Conn) fail(err error, tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(err, tell)
}

// Ended reports whether the session is over, in both directions.
func (c *Conn) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// received is what a hello tells: the bytes that need not be sent again.
func (c *Conn) received() uint64 { return c.consumed + uint64(c.in.n) + one(c.inFin) }

// credit is what an ack tells. A fin is acknowledged at once, because behind it
// there is nothing to hold back.
func (c *Conn) credit() uint64 {
	if c.inFin {
		return c.received()
	}
	return c.consumed
}

func (c *Conn) written() uint64 { return c.acked + uint64(c.out.n) }

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// deadline is guarded by the mutex of its connection.
type deadline struct {
	timer   *time.Timer
	expired bool
}

func (d *deadline) set(cond *sync.Cond, t time.Time) {
	d.stop()
	d.expired = !t.IsZero() && time.Until(t) <= 0
	if d.expired {
		cond.Broadcast()
		return
	}
	if t.IsZero() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		cond.L.Lock()
		defer cond.L.Unlock()
		if d.timer == timer { // not set again meanwhile
			d.expired = true
			cond.Broadcast()
		}
	})
	d.timer = timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
