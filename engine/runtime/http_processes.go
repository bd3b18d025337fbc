package runtime

import (
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/process"
)

// processHandler answers requests about processes.
type processHandler struct{ table *process.Table }

func (h *processHandler) postProcess(w http.ResponseWriter, r *http.Request) error {
	var spec protocol.ProcessSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	p, err := h.table.Start(spec)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusCreated, p.State())
}

func (h *processHandler) getProcesses(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.Process{}
	for _, p := range h.table.All() {
		list = append(list, p.State())
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"processes": list})
}

func (h *processHandler) getProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := h.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, p.State())
}

func (h *processHandler) getOutput(w http.ResponseWriter, r *http.Request) error {
	p, err := h.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx, cancel, err := httpx.QueryWait(r)
	if err != nil {
		return err
	}
	defer cancel()
	q := r.URL.Query()
	offset, err := httpx.QueryInt(q, "offset")
	if err != nil {
		return err
	}
	offset = p.FirstOffset(offset)
	if err := p.Follow(ctx, w, httpx.BeginRecords(w, offset), offset, q.Get("follow") == "1"); err != nil {
		httpx.Abort(err)
	}
	return nil
}

func (h *processHandler) postStdin(w http.ResponseWriter, r *http.Request) error {
	p, err := h.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	offset, err := httpx.QueryInt(r.URL.Query(), "offset")
	if err != nil {
		return err
	}
	n, err := p.WriteInput(r.Context(), offset, r.Body, r.URL.Query().Get("eof") == "1")
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]int64{"offset": n})
}

func (h *processHandler) postSignal(w http.ResponseWriter, r *http.Request) error {
	p, err := h.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	var req struct {
		Signal string `json:"signal"`
	}
	if err := httpx.ReadJSON(r, &req); err != nil {
		return err
	}
	if err := p.Signal(req.Signal); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

func (h *processHandler) postResize(w http.ResponseWriter, r *http.Request) error {
	p, err := h.table.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	var req struct {
		Rows int `json:"rows"`
		Cols int `json:"cols"`
	}
	if err := httpx.ReadJSON(r, &req); err != nil {
		return err
	}
	if err := p.Resize(req.Rows, req.Cols); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

func (h *processHandler) deleteProcess(w http.ResponseWriter, r *http.Request) error {
	if err := h.table.Delete(r.PathValue("id")); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}
