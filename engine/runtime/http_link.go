package runtime

import (
	"errors"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
)

// getLink takes a carrier of a link. The requests inside have tokens of their own,
// and only the client that opened a link can continue it.
func (s *Server) getLink(w http.ResponseWriter, r *http.Request) error {
	err := s.links.Serve(w, r, auth.TokenHash(r))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resumable.ErrUnknown):
		return protocol.Errorf(protocol.NotFound, "%v", err)
	case errors.Is(err, resumable.ErrTooMany), errors.Is(err, resumable.ErrClosing):
		return protocol.Errorf(protocol.Unavailable, "%v", err)
	}
	return protocol.Errorf(protocol.Unsupported, "%v", err)
}
