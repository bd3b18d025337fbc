package runtime

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
)

// access says which tokens open a route.
type access int

const (
	adminOnly  access = iota
	ownService        // also the token of the service in the path
	anyToken          // also the token of any service
)

// guard lets a request pass that has the right token. What it answers to others
// does not depend on whether the thing they ask for exists.
func (s *Server) guard(a access, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.authorize(a, r); err != nil {
			w.Header().Set("Connection", "close") // an unread body is not worth reading
			writeError(w, err)
			return
		}
		next(w, r)
	}
}

func (s *Server) authorize(a access, r *http.Request) error {
	hash := tokenHash(r)
	if hash == "" {
		return protocol.Errorf(protocol.Unauthorized, "this needs a token")
	}
	if subtle.ConstantTimeCompare([]byte(strings.ToLower(s.options.AdminSHA256)), []byte(hash)) == 1 {
		return nil
	}
	name := r.PathValue("service")
	for _, v := range s.services.all() {
		if !v.accepts(hash) {
			continue
		}
		if a == anyToken || a == ownService && v.name == name {
			return nil
		}
		return protocol.Errorf(protocol.Forbidden, "this token can only call the service %s", v.name)
	}
	return protocol.Errorf(protocol.Unauthorized, "the token is not valid here")
}

// tokenHash is the hash of a request's token; empty where there is none.
func tokenHash(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return ""
	}
	return protocol.HashToken(token)
}
