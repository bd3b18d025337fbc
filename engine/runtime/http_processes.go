package runtime

import (
	"context"
	"io"
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

// with answers a request about the process in its path.
func (h *processHandler) with(answer func(w http.ResponseWriter, r *http.Request, p *process.Process) error) httpx.Handler {
	return httpx.Found("id", h.table.Get, answer)
}

func getProcess(w http.ResponseWriter, _ *http.Request, p *process.Process) error {
	return httpx.WriteJSON(w, http.StatusOK, p.State())
}

func getOutput(w http.ResponseWriter, r *http.Request, p *process.Process) error {
	return sendRecords(w, r, p)
}

// recorded is what has output records: a process, and the logs of a service.
type recorded interface {
	First(offset int64) int64
	CopyTo(ctx context.Context, w io.Writer, flush func() error, offset int64, follow bool) (bool, error)
}

// sendRecords answers a request for output.
func sendRecords(w http.ResponseWriter, r *http.Request, from recorded) error {
	q := httpx.QueryOf(r)
	offset := q.Int("offset")
	ctx, cancel := q.Wait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	offset = from.First(offset)
	if _, err := from.CopyTo(ctx, w, httpx.BeginRecords(w, offset), offset, q.Is("follow")); err != nil {
		httpx.Abort(err)
	}
	return nil
}

func postStdin(w http.ResponseWriter, r *http.Request, p *process.Process) error {
	q := httpx.QueryOf(r)
	offset := q.Int("offset")
	if err := q.Err(); err != nil {
		return err
	}
	n, err := p.WriteInput(r.Context(), offset, r.Body, q.Is("eof"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]int64{"offset": n})
}

// changing answers a request whose body says how to change a process.
func changing[Request any](change func(p *process.Process, req Request) error) func(http.ResponseWriter, *http.Request, *process.Process) error {
	return func(w http.ResponseWriter, r *http.Request, p *process.Process) error {
		var req Request
		if err := httpx.ReadJSON(r, &req); err != nil {
			return err
		}
		if err := change(p, req); err != nil {
			return err
		}
		return httpx.WriteDone(w)
	}
}

type signalRequest struct {
	Signal string `json:"signal"`
}

func sendSignal(p *process.Process, req signalRequest) error { return p.Signal(req.Signal) }

type resizeRequest struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

func resizeTerminal(p *process.Process, req resizeRequest) error { return p.Resize(req.Rows, req.Cols) }

func (h *processHandler) deleteProcess(w http.ResponseWriter, r *http.Request) error {
	if err := h.table.Delete(r.PathValue("id")); err != nil {
		return err
	}
	return httpx.WriteDone(w)
}
