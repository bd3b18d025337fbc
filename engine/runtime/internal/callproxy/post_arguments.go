package callproxy

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// PostArguments takes a piece of the arguments of a call.
func (h *Handler) PostArguments(w http.ResponseWriter, r *http.Request) error {
	v, err := h.services.Get(r.PathValue("service"))
	if err != nil {
		return err
	}
	q := httpx.QueryOf(r)
	id, offset := r.PathValue("id"), q.Int("offset")
	if err := errors.Join(checkCallID(id), q.Err()); err != nil {
		return err
	}
	dir := h.dir
	if r.ContentLength == 0 {
		dir = "" // it only asks
	}
	p, err := h.arguments.obtain(argumentsKey(v.Name, auth.CallerOf(r).Owner(), id), dir)
	if err != nil {
		return err
	}
	have := int64(0)
	if p != nil {
		if have, err = p.take(offset, r.Body); err != nil {
			return err
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]int64{"offset": have})
}

// sentBefore are arguments that have arrived in pieces.
func (h *Handler) sentBefore(r *http.Request, v *service.Service, header *protocol.FrameHeader, text string) (*store, error) {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return nil, protocol.Errorf(protocol.Invalid, "%s: %q is not a number of bytes", headerArguments, text)
	}
	p, err := h.arguments.obtain(argumentsKey(v.Name, auth.CallerOf(r).Owner(), header.ID), "")
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, protocol.Errorf(protocol.Conflict, "nothing of the %d bytes of the call's arguments is here", size)
	}
	args, err := p.read(size)
	if err != nil {
		return nil, err
	}
	if err := beside(args, r.Header.Get("Content-Type"), header); err != nil {
		args.close()
		return nil, err
	}
	return args, nil
}
