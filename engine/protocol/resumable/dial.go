package resumable

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/seer-engine/seer/internal/retry"
)

// Dialer makes sessions. Zero durations stand for their defaults.
type Dialer struct {
	URL    string       // http:// or https://, where a [Server] answers
	Header http.Header  // of every carrier's request
	HTTP   *http.Client // nil = http.DefaultClient

	Patience  time.Duration // for the first carrier, while the tunnel does not get through; default 30 s
	GiveUp    time.Duration // a session whose carrier is cut fails after this; default 5 min
	Renew     time.Duration // age at which a carrier is replaced before it is cut; default 70 s, a little less at random
	Silence   time.Duration // a carrier on which nothing comes for this long is dead; default 30 s
	Handshake time.Duration // one try to make a carrier; default 20 s
	Linger    time.Duration // how long a closed session tries to deliver without progress; default 30 s

	// Gone is asked after each try that has failed while there is no carrier. An error means that
	// the other side has ended, and that the session fails with it. It must not block; nil = nobody
	// can tell.
	Gone func() error
}

func (d Dialer) withDefaults() Dialer {
	set := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&d.Patience, 30*time.Second)
	set(&d.GiveUp, 5*time.Minute)
	set(&d.Renew, 70*time.Second)
	set(&d.Silence, 30*time.Second)
	set(&d.Handshake, 20*time.Second)
	set(&d.Linger, 30*time.Second)
	if d.HTTP == nil {
		d.HTTP = http.DefaultClient
	}
	return d
}

// Dial opens a session. ctx limits the opening alone. A refusal that will not
// pass by itself is a [*RefusedError].
func (d Dialer) Dial(ctx context.Context) (*Conn, error) {
	d = d.withDefaults()
	var id [16]byte
	rand.Read(id[:]) // never fails
	s := &session{Dialer: d, id: hex.EncodeToString(id[:]), conn: newConn(d.URL, d.Linger)}
	k, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	go s.keep(k)
	return s.conn, nil
}

// session keeps a carrier under a connection.
type session struct {
	Dialer
	id   string
	conn *Conn
}

// open makes the first carrier.
func (s *session) open(ctx context.Context) (*carrier, error) {
	began := time.Now()
	for b := newBackoff(); ; {
		k, err := s.connect(ctx, true)
		if err == nil || final(err) || time.Since(began) > s.Patience {
			return k, err
		}
		if gone := s.gone(); gone != nil {
			return nil, gone
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(b.Next()):
		}
	}
}

// keep replaces the carrier before it is too old, and when it is cut.
func (s *session) keep(k *carrier) {
	for k != nil {
		age := s.Renew - randv2.N(s.Renew/5+1) // so that sessions do not all do it at once
		renew := time.NewTimer(age)
		select {
		case <-renew.C:
		case <-k.dead:
		case <-s.conn.ended:
		}
		renew.Stop()
		k = s.replace(k)
	}
}

// replace makes a new carrier; nil when the session is over.
func (s *session) replace(old *carrier) *carrier {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.conn.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for b := newBackoff(); !s.conn.Ended(); {
		k, err := s.connect(ctx, false)
		if err == nil {
			return k
		}
		if why := s.hopeless(old, err); why != nil {
			s.conn.fail(why, false)
			break
		}
		select {
		case <-s.conn.ended:
		case <-time.After(b.Next()):
		}
	}
	return nil
}

// hopeless says why a session cannot go on, if it cannot.
func (s *session) hopeless(old *carrier, err error) error {
	var refused *RefusedError
	switch {
	case errors.As(err, &refused) && refused.Ours() && refused.Status == http.StatusNotFound:
		return ErrLost
	case !old.isDead():
		return nil // it was to be renewed, and still works
	case final(err):
		return err
	case since(&old.heard) > s.GiveUp:
		return &GaveUpError{After: since(&old.heard), Err: err}
	}
	return s.gone()
}

func (s *session) gone() error {
	if s.Gone == nil {
		return nil
	}
	return s.Gone()
}

// connect makes a carrier and puts it under the session.
func (s *session) connect(ctx context.Context, fresh bool) (*carrier, error) {
	k, err := s.websocket(ctx, fresh)
	if err != nil {
		return nil, err
	}
	s.conn.mu.Lock()
	received := s.conn.received()
	s.conn.mu.Unlock()
	peerHas, err := k.greet(ctx, s.Handshake, received, false)
	if err == nil {
		err = s.conn.attach(k, peerHas)
	}
	if err != nil {
		k.close(err)
		return nil, err
	}
	go s.conn.carry(k)
	go s.conn.watch(k, s.Silence, s.Silence/3)
	return k, nil
}

// websocket makes the connection itself. What it depends on lives as long as it.
func (s *session) websocket(ctx context.Context, fresh bool) (*carrier, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	timer := time.AfterFunc(s.Handshake, cancel)
	ws, resp, err := websocket.Dial(own, s.address(fresh), &websocket.DialOptions{HTTPClient: s.HTTP, HTTPHeader: s.Header})
	switch intime, asked := timer.Stop(), stop(); {
	case err == nil && intime && asked:
		return newCarrier(ws, cancel), nil
	case err == nil:
		_ = ws.CloseNow()
		err = context.DeadlineExceeded
	case !intime:
		err = fmt.Errorf("no answer within %v", s.Handshake)
	case resp != nil:
		err = refusal(resp)
	default:
		err = cause(err)
	}
	cancel()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return nil, err
}

// cause drops what the layers between have put before a fault.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func refusal(resp *http.Response) error {
	body, _ := io.ReadAll(resp.Body) // at most 1 KiB is there
	return &RefusedError{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

func (s *session) address(fresh bool) string {
	q := url.Values{"session": {s.id}, "v": {strconv.Itoa(Version)}}
	if fresh {
		q.Set("new", "1")
	}
	return s.URL + "?" + q.Encode()
}

// newBackoff is for carriers, each of which costs a connection.
func newBackoff() retry.Backoff {
	return retry.Backoff{Min: 20 * time.Millisecond, Max: 5 * time.Second}
}
