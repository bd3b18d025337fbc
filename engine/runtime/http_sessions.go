package runtime

import (
	"net/http"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

func (s *Server) getSessions(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.SessionInfo{}
	for _, v := range s.sessions.all() {
		list = append(list, protocol.SessionInfo{ID: v.ID, Kind: v.Kind, CreatedUnix: v.Created})
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (s *Server) putSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	var spec protocol.SessionSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	if err := checkSession(id, spec); err != nil {
		return err
	}
	if strings.EqualFold(spec.TokenSHA256, *s.admin.Load()) {
		return protocol.Errorf(protocol.Conflict, "the session %s has the token of the machine's owner; make one of its own", id)
	}
	if err := s.sessions.put(id, spec, time.Now().Unix()); err != nil {
		return err
	}
	s.persist()
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	if !s.sessions.remove(r.PathValue("id")) {
		return protocol.Errorf(protocol.NotFound, "there is no session %q", r.PathValue("id"))
	}
	s.persist()
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}
