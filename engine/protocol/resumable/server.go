package resumable

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ServerOptions limit a [Server]. Zero values stand for their defaults.
type ServerOptions struct {
	Expire   time.Duration // a session without a carrier ends after this; default 5½ min
	Silence  time.Duration // a carrier on which nothing comes for this long is dead; default 60 s
	Linger   time.Duration // how long a closed session tries to deliver without progress; default 30 s
	PerOwner int           // sessions of one owner; beyond it those that lack a carrier end; default 64
}

// Server takes the carriers of sessions. It is a net.Listener of the sessions
// themselves.
type Server struct {
	o        ServerOptions
	accepted chan net.Conn
	closed   chan struct{}

	mu       sync.Mutex
	sessions map[string]*served
	over     bool
}

// served is a session of a server. Its fields are guarded by the server's mutex.
type served struct {
	conn     *Conn
	owner    string
	carriers int       // that are being made or at work
	lost     time.Time // when the last one was
	handed   bool      // to Accept
}

// The reasons of [Server.Serve] for refusing a carrier.
var (
	ErrNotWebsocket = errors.New("a link needs a websocket")
	ErrVersion      = errors.New("this version of the link is not known here")
	ErrUnknown      = errors.New("there is no such session")
	ErrTooMany      = errors.New("there are too many connections at once")
	ErrClosing      = errors.New("the machine ends")
)

// NewServer makes a server. Close ends its sessions.
func NewServer(o ServerOptions) *Server {
	set := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&o.Expire, 5*time.Minute+30*time.Second)
	set(&o.Silence, time.Minute)
	set(&o.Linger, 30*time.Second)
	if o.PerOwner <= 0 {
		o.PerOwner = 64
	}
	return &Server{o: o, accepted: make(chan net.Conn), closed: make(chan struct{}), sessions: map[string]*served{}}
}

// greetTime is how long a client may take to say hello on a carrier.
const greetTime = 20 * time.Second

// Serve answers a request for a carrier and works until that is dead. Only the
// owner that opened a session can go on with it. A refusal is returned before
// anything was written.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, owner string) error {
	q := r.URL.Query()
	id := q.Get("session")
	switch raw, err := hex.DecodeString(id); {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return ErrNotWebsocket
	case q.Get("v") != strconv.Itoa(Version):
		return ErrVersion
	case err != nil || len(raw) != 16:
		return ErrUnknown
	}
	v, err := s.enter(id, owner, q.Get("new") == "1")
	if err != nil {
		return err
	}
	defer s.leave(v)
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // it has answered
	}
	s.work(v, newCarrier(ws, func() {}))
	return nil
}

func (s *Server) work(v *served, k *carrier) {
	v.conn.mu.Lock()
	received := v.conn.received()
	v.conn.mu.Unlock()
	peerHas, err := k.greet(context.Background(), greetTime, received, true)
	if err == nil {
		err = v.conn.attach(k, peerHas)
	}
	if err != nil {
		k.close(err)
		return
	}
	if s.hand(v) {
		select {
		case s.accepted <- v.conn:
		case <-s.closed:
		}
	}
	go v.conn.watch(k, s.o.Silence, 0)
	v.conn.carry(k)
}

// hand says whether the session is new to Accept.
func (s *Server) hand(v *served) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !v.handed
	v.handed = true
	return first
}

// enter finds the session of a carrier, or makes it.
func (s *Server) enter(id, owner string, fresh bool) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.sessions[id]
	switch {
	case v != nil && subtle.ConstantTimeCompare([]byte(v.owner), []byte(owner)) == 1:
	case v != nil || !fresh:
		return nil, ErrUnknown
	case s.over:
		return nil, ErrClosing
	case !s.evictFor(owner):
		return nil, ErrTooMany
	default:
		v = &served{conn: newConn("link", s.o.Linger), owner: owner}
		s.sessions[id] = v
		go s.forget(id, v)
	}
	v.carriers++
	return v, nil
}

// evictFor reports whether an owner may have one more session. At the limit, it ends the session
// whose carrier has been lost for longest.
func (s *Server) evictFor(owner string) bool {
	n, oldest := 0, ""
	for id, v := range s.sessions {
		if v.owner != owner {
			continue
		}
		n++
		if v.carriers == 0 && (oldest == "" || v.lost.Before(s.sessions[oldest].lost)) {
			oldest = id
		}
	}
	if n < s.o.PerOwner {
		return true
	}
	if oldest == "" {
		return false
	}
	go s.sessions[oldest].conn.fail(ErrLost, false)
	delete(s.sessions, oldest)
	return true
}

// forget waits for the end of a session.
func (s *Server) forget(id string, v *served) {
	<-v.conn.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// leave lets a session expire that has no carrier left.
func (s *Server) leave(v *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.carriers--
	if v.carriers > 0 {
		return
	}
	lost := time.Now()
	v.lost = lost
	wait := s.o.Expire
	if !v.handed {
		wait = min(wait, greetTime)
	}
	time.AfterFunc(wait, func() {
		s.mu.Lock()
		expired := v.carriers == 0 && v.lost.Equal(lost)
		s.mu.Unlock()
		if expired {
			v.conn.fail(ErrLost, false)
		}
	})
}

// Accept returns the next new session.
func (s *Server) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Addr names the server.
func (s *Server) Addr() net.Addr { return addr("link") }

// Close makes Accept return. Sessions go on; see [Server.Shutdown].
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return net.ErrClosed
	}
	s.over = true
	close(s.closed)
	return nil
}

// Shutdown waits until every session has been closed and has delivered what was
// written, and ends those that are left when ctx does.
func (s *Server) Shutdown(ctx context.Context) {
	_ = s.Close()
	for {
		left := s.list()
		if len(left) == 0 {
			return
		}
		select {
		case <-left[0].ended:
		case <-ctx.Done():
			for _, c := range left {
				c.fail(ErrEnded, true)
			}
			s.flush(left)
			return
		}
	}
}

// flush gives the last words of sessions a moment to leave.
func (s *Server) flush(conns []*Conn) {
	limit := time.After(200 * time.Millisecond)
	for _, c := range conns {
		c.mu.Lock()
		k := c.carrier
		c.mu.Unlock()
		if k == nil {
			continue
		}
		select {
		case <-k.dead:
		case <-limit:
			return
		}
	}
}

func (s *Server) list() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Conn
	for _, v := range s.sessions {
		list = append(list, v.conn)
	}
	return list
}
