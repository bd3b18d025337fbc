package runtime

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// access says which tokens open a route.
type access int

const (
	adminOnly  access = iota
	ownService        // also the tokens of the service in the path
	ofSession         // also those of sessions
	anyToken          // any of them
	nobody            // it needs no token
)

// caller is whose request it is.
type caller struct {
	admin   bool
	token   protocol.Token
	session *session // nil where the token is another one
}

// owner is the token under whose name its calls run.
func (c caller) owner() string {
	if c.admin {
		return protocol.MainToken
	}
	return c.token.ID
}

// scope is the token whose calls it may see; empty for all.
func (c caller) scope() string {
	if c.admin {
		return ""
	}
	return c.token.ID
}

type callerKey struct{}

func callerOf(r *http.Request) caller {
	c, _ := r.Context().Value(callerKey{}).(caller)
	return c
}

// guard lets a request pass that has the right token. What it answers to others
// does not depend on whether the thing they ask for exists.
func (s *Server) guard(a access, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.authorize(a, r)
		if err != nil {
			s.refuse(w, err)
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

const (
	maxHeader       = 1 << 20         // bytes
	refusalPatience = 5 * time.Second // for the body of a request that is refused
)

// refuse answers a request that has not the right token. net/http reads 256 KiB of its
// body before it closes the connection, so that the answer arrives; that must end.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	if s.patience > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.patience)) // a link has its own limits
	}
	w.Header().Set("Connection", "close")
	httpx.WriteError(w, err)
}

func (s *Server) authorize(a access, r *http.Request) (caller, error) {
	if a == nobody {
		return caller{}, nil
	}
	hash := tokenHash(r)
	if hash == "" {
		return caller{}, protocol.Errorf(protocol.Unauthorized, "this needs a token")
	}
	if subtle.ConstantTimeCompare([]byte(strings.ToLower(*s.admin.Load())), []byte(hash)) == 1 {
		return caller{admin: true}, nil
	}
	if v := s.sessions.tokenOf(hash); v != nil {
		if a == ofSession || a == anyToken {
			return caller{session: v}, nil
		}
		return caller{}, protocol.Errorf(protocol.Forbidden, "the token of a session opens processes, files, ports, watching and usage of the sandbox, and not this")
	}
	name := r.PathValue("service")
	for _, v := range s.services.all() {
		t, ok := v.tokenOf(hash)
		switch {
		case !ok:
			continue
		case expired(t):
			return caller{}, protocol.Errorf(protocol.Unauthorized, "the token %s has expired; ask whoever gave it to you for another", t.ID)
		case a == anyToken || a == ownService && v.name == name:
			return caller{token: t}, nil
		}
		return caller{}, protocol.Errorf(protocol.Forbidden, "this token can only call the service %s", v.name)
	}
	return caller{}, protocol.Errorf(protocol.Unauthorized, "the token is not valid here")
}

// tokenHash is the hash of a request's token; empty where there is none.
func tokenHash(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return ""
	}
	return protocol.HashToken(token)
}
