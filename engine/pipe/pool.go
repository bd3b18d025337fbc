package pipe

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Way is how the sessions of one key of a [Pool] begin.
type Way interface {
	// Begin begins a session. It gives up when ctx ends; the session outlives ctx.
	Begin(ctx context.Context) (*Session, error)

	// Lost follows a session that does not answer any more, once for each: what is below it
	// may be dead, too.
	Lost()
}

// Pool shares sessions: the connections of one key go through one session, and another one
// begins when that is dead. The zero Pool is empty. It is safe for concurrent use.
type Pool struct {
	mu  sync.Mutex
	all map[string]*shared
}

// Cut is the error of [Pool.Dial] where a session, and the one begun in its place, did not
// answer.
type Cut struct{ Err error }

func (e *Cut) Error() string { return e.Err.Error() }

// Dial connects to a target. An error is that of ctx or of [Way.Begin], a [*Refused], or a [*Cut].
func (p *Pool) Dial(ctx context.Context, key string, way Way, target string) (net.Conn, error) {
	for again := false; ; again = true {
		session, err := p.of(key).session(ctx, way)
		if err != nil {
			return nil, err
		}
		conn, err := session.Open(ctx, target)
		var refused *Refused
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &refused):
			return nil, err
		}
		session.lost(way)
		if again {
			return nil, &Cut{session.explain(err)}
		}
	}
}

// Close ends all sessions. The pool may be used again.
func (p *Pool) Close() {
	p.mu.Lock()
	all := p.all
	p.all = nil
	p.mu.Unlock()
	for _, s := range all {
		s.close()
	}
}

func (p *Pool) of(key string) *shared {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.all[key]
	if s == nil {
		s = &shared{turn: make(chan struct{}, 1)}
		if p.all == nil {
			p.all = map[string]*shared{}
		}
		p.all[key] = s
	}
	return s
}

// shared is the session of a key, while there is one.
type shared struct {
	turn chan struct{} // who begins a session
	mu   sync.Mutex
	have *pooled
}

// pooled is a session that may be lost once.
type pooled struct {
	*Session
	once sync.Once
}

func (s *pooled) lost(way Way) {
	s.once.Do(func() {
		_ = s.Close()
		way.Lost()
	})
}

func (s *shared) live() *pooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have == nil {
		return nil
	}
	select {
	case <-s.have.Done():
		return nil
	default:
		return s.have
	}
}

func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have != nil {
		_ = s.have.Close()
	}
}

// session returns the session, and begins one where there is none.
func (s *shared) session(ctx context.Context, way Way) (*pooled, error) {
	if have := s.live(); have != nil {
		return have, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if have := s.live(); have != nil {
		return have, nil
	}
	if s.have != nil { // only changed by whose turn it is
		s.have.lost(way)
	}
	begun, err := way.Begin(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have = &pooled{Session: begun}
	return s.have, nil
}
