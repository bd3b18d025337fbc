package resumable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/seer-engine/seer/internal/closed"
)

// carrier is one websocket under a session. Its positions are guarded by the
// mutex of the session.
type carrier struct {
	ws     *websocket.Conn
	cancel context.CancelFunc // of what the websocket depends on
	buf    []byte             // of the reader

	sent  uint64 // offset of the next byte to send; behind a fin one more
	told  uint64 // the last ack
	ping  bool   // to be sent
	pong  bool
	pongN uint64

	heard, wrote atomic.Int64 // unix nanoseconds
	dead         chan struct{}
	once         sync.Once
	cause        error // valid once dead
}

func newCarrier(ws *websocket.Conn, cancel context.CancelFunc) *carrier {
	ws.SetReadLimit(maxFrame)
	k := &carrier{ws: ws, cancel: cancel, buf: make([]byte, maxFrame), dead: make(chan struct{})}
	k.heard.Store(time.Now().UnixNano())
	k.wrote.Store(time.Now().UnixNano())
	return k
}

// close gives the carrier up at once.
func (k *carrier) close(cause error) {
	k.once.Do(func() {
		k.cause = cause
		close(k.dead)
		_ = k.ws.CloseNow()
		k.cancel()
	})
}

func (k *carrier) isDead() bool { return closed.Is(k.dead) }

func (k *carrier) write(ctx context.Context, b []byte) error {
	err := k.ws.Write(ctx, websocket.MessageBinary, b)
	k.wrote.Store(time.Now().UnixNano())
	return err
}

// read reads one frame. Its data is valid until the next one.
func (k *carrier) read(ctx context.Context) (frame, error) {
	kind, r, err := k.ws.Reader(ctx)
	if err != nil {
		return frame{}, err
	}
	if kind != websocket.MessageBinary {
		return frame{}, violation("a message of text")
	}
	n := 0
	for err == nil && n < len(k.buf) {
		var m int
		m, err = r.Read(k.buf[n:])
		n += m
	}
	if err == nil { // full: nothing may follow
		_, err = r.Read(make([]byte, 1))
	}
	if !errors.Is(err, io.EOF) {
		return frame{}, err
	}
	k.heard.Store(time.Now().UnixNano())
	return parseFrame(k.buf[:n])
}

// greet says and hears hello within a time. The other side's is returned.
func (k *carrier) greet(ctx context.Context, timeout time.Duration, received uint64, first bool) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	hello := appendFrame(nil, kindHello, received)
	if first {
		if err := k.write(ctx, hello); err != nil {
			return 0, err
		}
	}
	f, err := k.read(ctx)
	if err != nil {
		return 0, err
	}
	if f.kind != kindHello {
		return 0, violation("a carrier that does not begin with hello")
	}
	if !first {
		err = k.write(ctx, hello)
	}
	return f.number, err
}

// attach makes k the carrier that the session sends on, from what the peer has
// received. The one before it is given up.
func (c *Conn) attach(k *carrier, peerHas uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return ErrEnded
	}
	if peerHas > c.written()+one(c.outFin) {
		return violation("it has received %d bytes of %d", peerHas, c.written())
	}
	old := c.carrier
	c.carrier, k.sent = k, max(peerHas, c.acked) // its hello may be older than its last ack
	c.sendable.Broadcast()
	if old != nil {
		go old.close(errors.New("it was replaced"))
	}
	go c.send(k)
	return nil
}

// carry receives on k until it is dead.
func (c *Conn) carry(k *carrier) {
	for {
		f, err := k.read(context.Background())
		if err == nil {
			err = c.receive(k, f)
		}
		if err != nil {
			k.close(err)
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.carrier == k {
		c.carrier = nil
	}
	c.sendable.Broadcast() // its sender waits
}

// send sends what there is until k is replaced or dead.
func (c *Conn) send(k *carrier) {
	buf := make([]byte, 0, maxFrame)
	for {
		b, last := c.next(k, buf)
		if b == nil {
			return
		}
		if err := k.write(context.Background(), b); err != nil {
			k.close(err)
			return
		}
		if last {
			_ = k.ws.Close(websocket.StatusNormalClosure, "") // lets what was written arrive
			k.close(errors.New("the session is over"))
			return
		}
	}
}

// next waits for something to send; nil when k is no longer the one to send on.
func (c *Conn) next(k *carrier, buf []byte) (b []byte, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		// What was on its way over the carrier before may have arrived, and been
		// acknowledged, after the hello of this one was written.
		k.sent = max(k.sent, c.acked)
		switch {
		case k.isDead() || c.carrier != k:
			return nil, true
		case c.over:
			if !c.tellEnd {
				go k.close(errors.New("the session is over"))
				return nil, true
			}
			return appendFrame(buf, kindEnd, 0), true
		case k.pong:
			k.pong = false
			return appendFrame(buf, kindPong, k.pongN), false
		case c.ackDue(k):
			k.told = c.credit()
			return appendFrame(buf, kindAck, k.told), false
		case k.ping:
			k.ping = false
			return appendFrame(buf, kindPing, 0), false
		case k.sent < c.written():
			return c.nextData(k, buf), false
		case c.outFin && k.sent == c.written():
			k.sent++
			return appendFrame(buf, kindFin, c.written()), false
		}
		c.sendable.Wait()
	}
}

func (c *Conn) nextData(k *carrier, buf []byte) []byte {
	b := appendFrame(buf, kindData, k.sent)
	n := c.out.peek(int(k.sent-c.acked), b[frameHead:cap(b)])
	k.sent += uint64(n)
	return b[:frameHead+n]
}

// ackDue says whether the peer needs to know how much has been read: not for
// every little piece, but before it has to wait.
func (c *Conn) ackDue(k *carrier) bool {
	credit := c.credit()
	return credit >= k.told+Window/4 || (c.inFin && credit > k.told)
}

// receive takes in one frame.
func (c *Conn) receive(k *carrier, f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		if c.tellEnd { // which takes a moment
			return nil
		}
		return ErrEnded
	}
	switch f.kind {
	case kindData:
		return c.receiveData(f)
	case kindAck:
		return c.receiveAck(f.number)
	case kindFin:
		if have := c.consumed + uint64(c.in.n); f.number != have {
			return violation("a fin at %d after %d bytes", f.number, have)
		}
		c.inFin = true
		c.readable.Broadcast()
		c.sendable.Broadcast()
	case kindEnd:
		c.finish(ErrEnded, false)
	case kindPing:
		k.pong, k.pongN = true, f.number
		c.sendable.Broadcast()
	case kindHello:
		return violation("a second hello")
	}
	return nil
}

// receiveData keeps what is new of a frame: after a change of carriers some of it
// comes again.
func (c *Conn) receiveData(f frame) error {
	have := c.consumed + uint64(c.in.n)
	if f.number > have {
		return violation("data at %d after %d bytes", f.number, have)
	}
	if f.number+uint64(len(f.data)) <= have {
		return nil
	}
	fresh := f.data[have-f.number:]
	switch {
	case c.inFin:
		return violation("data behind a fin")
	case len(fresh) > c.in.free():
		return violation("more than a window ahead")
	case c.closed: // nobody reads it, but the peer may go on
		c.consumed += uint64(len(fresh))
		c.sendable.Broadcast()
		return nil
	}
	c.in.write(fresh)
	c.readable.Signal()
	return nil
}

func (c *Conn) receiveAck(n uint64) error {
	written := c.written()
	if n > written+one(c.outFin) {
		return violation("an ack of %d after %d bytes", n, written)
	}
	if n > written { // the fin too
		c.finAcked, n = true, written
	}
	if n > c.acked {
		c.out.discard(int(n - c.acked))
		c.acked = n
		c.writable.Broadcast()
	}
	if c.finAcked && c.closed {
		c.finish(ErrEnded, true)
	}
	return nil
}

// watch gives a carrier up that says nothing for the time silence. With ping it
// makes the peer speak.
func (c *Conn) watch(k *carrier, silence, ping time.Duration) {
	step := silence / 4
	if ping > 0 {
		step = min(step, ping/2)
	}
	tick := time.NewTicker(max(step, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-k.dead:
			return
		case <-tick.C:
		}
		quiet, idle := since(&k.heard), since(&k.wrote)
		if quiet > silence {
			k.close(fmt.Errorf("nothing has come for %v", silence))
			return
		}
		if ping > 0 && max(quiet, idle) > ping {
			c.mu.Lock()
			k.ping = true
			c.sendable.Broadcast()
			c.mu.Unlock()
		}
	}
}

func since(at *atomic.Int64) time.Duration { return time.Duration(time.Now().UnixNano() - at.Load()) }
