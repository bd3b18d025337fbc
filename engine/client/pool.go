package client

import (
	"context"
	"sync"
	"time"
)

// Limits of the connections to workers that a client keeps.
const (
	keepIdle = 16 // for each service
	idleFor  = 90 * time.Second
)

// pool keeps connections to workers that no call needs just now: the next one then
// begins without asking the runtime. Each call has one to itself, so that a caller
// that reads slowly holds nobody up.
type pool struct {
	mu   sync.Mutex
	idle map[string][]*FrameConn
}

// take finds a connection for a call; used = it may have been closed meanwhile.
func (c *Calls) take(ctx context.Context, service string) (conn *FrameConn, used bool, err error) {
	c.pool.mu.Lock()
	if list := c.pool.idle[service]; len(list) > 0 {
		conn = list[len(list)-1]
		c.pool.idle[service] = list[:len(list)-1]
	}
	c.pool.mu.Unlock()
	if conn != nil {
		conn.idle.Stop()
		return conn, true, nil
	}
	conn, err = c.Connect(ctx, service)
	return conn, false, err
}

// give keeps a connection for the next call.
func (c *Calls) give(service string, conn *FrameConn) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if len(c.pool.idle[service]) >= keepIdle {
		go conn.retire()
		return
	}
	if c.pool.idle == nil {
		c.pool.idle = map[string][]*FrameConn{}
	}
	c.pool.idle[service] = append(c.pool.idle[service], conn)
	if conn.idle == nil {
		conn.idle = time.AfterFunc(idleFor, func() { c.expire(service, conn) })
		return
	}
	conn.idle.Reset(idleFor)
}

// expire closes a connection that has not been needed for long.
func (c *Calls) expire(service string, conn *FrameConn) {
	c.pool.mu.Lock()
	list := c.pool.idle[service]
	found := false
	for i, have := range list {
		if have == conn {
			c.pool.idle[service] = append(list[:i:i], list[i+1:]...)
			found = true
			break
		}
	}
	c.pool.mu.Unlock()
	if found {
		conn.retire()
	}
}

// empty closes what is kept. The workers are told that the answers have arrived.
func (c *Calls) empty() {
	c.pool.mu.Lock()
	idle := c.pool.idle
	c.pool.idle = nil
	c.pool.mu.Unlock()
	for _, list := range idle {
		for _, conn := range list {
			conn.retire()
		}
	}
}
