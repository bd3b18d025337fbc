package runtime

import (
	"net/http"
	"regexp"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// processID is what clients may call a process: it stands in addresses and in its environment.
var processID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,99}$`)

func (s *Server) postProcess(w http.ResponseWriter, r *http.Request) error {
	var spec protocol.ProcessSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	if spec.ID != "" && !processID.MatchString(spec.ID) {
		return protocol.Errorf(protocol.Invalid, "%.110q is no id for a process: up to 100 letters, digits, _ . : and -, not beginning with . or :", spec.ID)
	}
	p, err := s.processes.start(spec.ID, func(id string) (*process, error) { return s.startProcess(spec, id) })
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusCreated, p.state())
}

func (s *Server) getProcesses(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.Process{}
	for _, p := range s.processes.all() {
		list = append(list, p.state())
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"processes": list})
}

func (s *Server) getProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := s.processes.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, p.state())
}

func (s *Server) getOutput(w http.ResponseWriter, r *http.Request) error {
	p, err := s.processes.get(r.PathValue("id"))
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
	flush := httpx.BeginRecords(w, p.spool.First(offset))
	if err := p.follow(ctx, w, flush, p.spool.First(offset), q.Get("follow") == "1"); err != nil {
		httpx.Abort(err)
	}
	return nil
}

func (s *Server) postStdin(w http.ResponseWriter, r *http.Request) error {
	p, err := s.processes.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	offset, err := httpx.QueryInt(r.URL.Query(), "offset")
	if err != nil {
		return err
	}
	n, err := p.stdin.write(r.Context(), offset, r.Body, r.URL.Query().Get("eof") == "1")
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]int64{"offset": n})
}

func (s *Server) postSignal(w http.ResponseWriter, r *http.Request) error {
	p, err := s.processes.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	var req struct {
		Signal string `json:"signal"`
	}
	if err := httpx.ReadJSON(r, &req); err != nil {
		return err
	}
	if err := p.signal(req.Signal); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

func (s *Server) deleteProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := s.processes.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.kill(); err != nil {
		return err
	}
	<-p.done
	s.processes.remove(p)
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}
