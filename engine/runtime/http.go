package runtime

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/hublinks"
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
	s.linkModels(cfg)
	return httpx.WriteDone(w)
}

// linkModels lets the clients of the Hub on the machine find its models. A home that cannot be
// written is no reason to end: everything else finds them.
func (s *Server) linkModels(cfg protocol.Config) {
	var copies []hublinks.Copy
	for _, m := range slices.Concat(cfg.Models, cfg.Datasets) {
		for _, repo := range m.Repos {
			copies = append(copies, hublinks.Copy{Repo: repo, Commit: m.Revision, Refs: m.Refs, Absent: m.Absent, Dir: s.env.Real(m.Path)})
		}
	}
	variables := map[string]string{}
	for _, pair := range s.env.Variables(cfg, "") {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	cache := hublinks.Cache(s.env.Home(), func(name string) string { return variables[name] })
	if cache == "" {
		return
	}
	s.linking.Lock()
	defer s.linking.Unlock()
	if err := hublinks.Make(cache, copies); err != nil {
		s.options.Logger.Warn("clients of the Hub do not find the models by name", "why", err)
	}
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
