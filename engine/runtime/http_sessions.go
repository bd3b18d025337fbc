package runtime

import (
	"net/http"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// sessionHandler answers requests about sessions.
type sessionHandler struct {
	sessions *auth.Sessions
	guard    *auth.Guard
	persist  func()
}

func (h *sessionHandler) getSessions(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.SessionInfo{}
	for _, v := range h.sessions.All() {
		list = append(list, protocol.SessionInfo{ID: v.ID, Kind: v.Kind, CreatedUnix: v.Created})
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (h *sessionHandler) putSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	var spec protocol.SessionSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	if err := auth.CheckSession(id, spec); err != nil {
		return err
	}
	if h.guard.IsAdmin(strings.ToLower(spec.TokenSHA256)) {
		return protocol.Errorf(protocol.Conflict, "the session %s has the token of the machine's owner; make one of its own", id)
	}
	if err := h.sessions.Put(id, spec, time.Now().Unix()); err != nil {
		return err
	}
	h.persist()
	return httpx.WriteDone(w)
}

func (h *sessionHandler) deleteSession(w http.ResponseWriter, r *http.Request) error {
	if !h.sessions.Remove(r.PathValue("id")) {
		return protocol.Errorf(protocol.NotFound, "there is no session %q", r.PathValue("id"))
	}
	h.persist()
	return httpx.WriteDone(w)
}
