package runtime

import (
	"net/http"
	"slices"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
	"github.com/seer-engine/seer/sdk"
)

func (h *serviceHandler) getTokens(w http.ResponseWriter, _ *http.Request, v *service.Service) error {
	use, err := journal.Use(h.services.Journal(v.Name), h.config().Price)
	if err != nil {
		return err
	}
	list := v.Tokens()
	for i := range list {
		u := use[list[i].ID]
		list[i].Use = &u
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"tokens": list})
}

func (h *serviceHandler) putToken(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	var t protocol.Token
	if err := httpx.ReadJSON(r, &t); err != nil {
		return err
	}
	id := r.PathValue("id")
	if t.ID == "" {
		t.ID = id
	}
	if t.ID != id {
		return protocol.Errorf(protocol.Invalid, "the token is called %s in the request and %s in its path", t.ID, id)
	}
	if err := v.PutToken(t); err != nil {
		return err
	}
	h.persist()
	return httpx.WriteDone(w)
}

func (h *serviceHandler) deleteToken(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	if !v.RevokeToken(r.PathValue("id")) {
		return protocol.Errorf(protocol.NotFound, "the service %s has no token %q that could be revoked", v.Name, r.PathValue("id"))
	}
	h.calls.DropToken(v.Name, r.PathValue("id"))
	h.persist()
	return httpx.WriteDone(w)
}

// forToken leaves out of a description what a token may not call.
func forToken(d protocol.Service, t protocol.Token) protocol.Service {
	if len(t.Functions) == 0 || d.Interface == nil {
		return d
	}
	shown := *d.Interface
	shown.Functions = slices.DeleteFunc(slices.Clone(shown.Functions), func(f sdk.Function) bool {
		return !slices.Contains(t.Functions, f.Name)
	})
	d.Interface = &shown
	return d
}
