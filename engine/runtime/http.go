package runtime

import (
	"net/http"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

func (s *Server) getLoader(w http.ResponseWriter, _ *http.Request) error {
	return httpx.WriteJSON(w, http.StatusOK, protocol.LoaderInfo{Loader: protocol.Version, Started: true})
}

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	busy := s.busy()
	_, last := s.lease.Used(time.Now())
	h := protocol.Health{Version: s.options.Version, StartedUnix: s.started, NowUnix: time.Now().Unix(),
		Python: s.env.Python(s.config()), Services: map[string]protocol.ServiceState{}, Lease: s.lease.Describe(), Busy: busy, LastUseUnix: last.Unix()}
	for _, v := range s.services.All() {
		if d, ok := v.Describe(); ok {
			h.Services[d.Name] = d.State
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, h)
}

func (s *Server) putConfig(w http.ResponseWriter, r *http.Request) error {
	var cfg protocol.Config
	if err := httpx.ReadJSON(r, &cfg); err != nil {
		return err
	}
	if err := environment.CheckConfig(cfg); err != nil {
		return err
	}
	if cfg.Workdir != "" {
		if err := os.MkdirAll(s.env.Real(cfg.Workdir), 0o755); err != nil {
			return err
		}
	}
	old := s.configured.Swap(&cfg)
	if old.Price != cfg.Price {
		s.services.TellTokens()
	}
	s.persist()
	return httpx.WriteDone(w)
}

func (s *Server) getConfig(w http.ResponseWriter, _ *http.Request) error {
	return httpx.WriteJSON(w, http.StatusOK, s.env.Describe(s.config()))
}

func (s *Server) getLease(w http.ResponseWriter, _ *http.Request) error {
	return httpx.WriteJSON(w, http.StatusOK, s.lease.Describe())
}

func (s *Server) putLease(w http.ResponseWriter, r *http.Request) error {
	var req protocol.LeaseRequest
	if err := httpx.ReadJSON(r, &req); err != nil {
		return err
	}
	if err := s.lease.Take(req); err != nil {
		return err
	}
	s.persist()
	s.reporter.Report(time.Now())
	return httpx.WriteJSON(w, http.StatusOK, s.lease.Describe())
}

func (s *Server) postShutdown(w http.ResponseWriter, _ *http.Request) error {
	defer s.End("a client asked for it")
	return httpx.WriteDone(w)
}
