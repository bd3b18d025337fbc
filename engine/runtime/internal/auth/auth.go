// Package auth decides who may send a request: the owner of the machine, a session, or a token
// of a service.
package auth

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// Access says which tokens open a route.
type Access int

// The kinds of access.
const (
	AdminOnly    Access = iota
	OwnService          // also the tokens of the service in the path
	SessionToken        // also those of sessions
	AnyToken            // any of them
	NoToken             // it needs no token
)

// Caller is whose request it is.
type Caller struct {
	admin   bool
	Token   protocol.Token
	session *Session // nil where the token is another one
}

// Owner is the token under whose name its calls run.
func (c Caller) Owner() string {
	if c.admin {
		return protocol.MainToken
	}
	return c.Token.ID
}

// Scope is the token whose calls it may see; empty for all.
func (c Caller) Scope() string {
	if c.admin {
		return ""
	}
	return c.Token.ID
}

// Sees reports whether a call of a token is the caller's business.
func (c Caller) Sees(token string) bool { return c.admin || token == c.Token.ID }

type callerKey struct{}

// CallerOf returns whose request it is, as [Guard.Protect] has found.
func CallerOf(r *http.Request) Caller {
	c, _ := r.Context().Value(callerKey{}).(Caller)
	return c
}

// Guard decides who may send a request.
type Guard struct {
	Sessions *Sessions
	// ServiceToken finds the service that a hash is of a token of, and that token.
	ServiceToken func(hash string) (service string, t protocol.Token, ok bool)
	// Patience is for the body of a request that is refused; 0 = no limit.
	Patience time.Duration

	admin atomic.Pointer[string]
}

// NewGuard makes a guard that knows the hash of the admin token.
func NewGuard(admin string, s *Sessions, serviceToken func(string) (string, protocol.Token, bool)) *Guard {
	g := &Guard{Sessions: s, ServiceToken: serviceToken, Patience: refusalPatience}
	g.SetAdmin(admin)
	return g
}

// SetAdmin has another token be the admin's.
func (g *Guard) SetAdmin(hash string) { g.admin.Store(&hash) }

// IsAdmin reports whether a hash is that of the admin token, in constant time.
func (g *Guard) IsAdmin(hash string) bool {
	return subtle.ConstantTimeCompare([]byte(strings.ToLower(*g.admin.Load())), []byte(hash)) == 1
}

// LimitBody limits the time for the body of a request of somebody unknown.
func (g *Guard) LimitBody(w http.ResponseWriter) {
	if g.Patience > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.Patience)) // a link has its own limits
	}
}

// Protect lets a request pass that has the right token. What it answers to others
// does not depend on whether the thing they ask for exists.
func (g *Guard) Protect(a Access, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := g.authorize(a, r)
		if err != nil {
			g.refuse(w, err)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, c)
		if c.session != nil {
			var cancel context.CancelFunc
			ctx, cancel = c.session.until(ctx)
			defer cancel()
		}
		next(w, r.WithContext(ctx))
	}
}

const refusalPatience = 5 * time.Second // for the body of a request that is refused

// refuse answers a request that has not the right token. net/http reads 256 KiB of its
// body before it closes the connection, so that the answer arrives; that must end.
func (g *Guard) refuse(w http.ResponseWriter, err error) {
	g.LimitBody(w)
	w.Header().Set("Connection", "close")
	httpx.WriteError(w, err)
}

func (g *Guard) authorize(a Access, r *http.Request) (Caller, error) {
	if a == NoToken {
		return Caller{}, nil
	}
	hash := TokenHash(r)
	if hash == "" {
		return Caller{}, protocol.Errorf(protocol.Unauthorized, "this needs a token")
	}
	if g.IsAdmin(hash) {
		return Caller{admin: true}, nil
	}
	if v := g.Sessions.tokenOf(hash); v != nil {
		if a == SessionToken || a == AnyToken {
			return Caller{session: v}, nil
		}
		return Caller{}, protocol.Errorf(protocol.Forbidden, "the token of a session opens only processes, files, ports, watching and usage of the sandbox")
	}
	service, token, ok := g.ServiceToken(hash)
	switch {
	case !ok:
		return Caller{}, protocol.Errorf(protocol.Unauthorized, "the token is not valid here")
	case expired(token):
		return Caller{}, protocol.Errorf(protocol.Unauthorized, "the token %s has expired; ask the person who gave it to you for a new one", token.ID)
	case a == AnyToken || a == OwnService && service == r.PathValue("service"):
		return Caller{Token: token}, nil
	}
	return Caller{}, protocol.Errorf(protocol.Forbidden, "this token can only call the service %s", service)
}

func expired(t protocol.Token) bool { return t.Expires > 0 && time.Now().Unix() >= t.Expires }

// TokenHash is the hash of a request's token; empty where there is none.
func TokenHash(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return ""
	}
	return protocol.HashToken(token)
}
