package runtime

import (
	"net/http"
	"slices"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// route is one kind of request: who may send it, what it does to the machine, and what
// answers it.
type route struct {
	pattern string
	access  auth.Access
	effect  effect
	answer  httpx.Handler
}

// effect is what a request means for the machine.
type effect int

const (
	use    effect = 1 << iota // it is being used, and its lease goes on
	change                    // its files change: not while it is frozen
)

// machineRequests are those about the machine. docs/protocol.md specifies all requests.
func (s *Server) machineRequests() []route {
	files := &filesHandler{env: s.env, memory: s.memory}
	processes := &processHandler{s.processes}
	sessions := &sessionHandler{sessions: s.sessions, guard: s.guard, persist: s.persist}
	return []route{
		{"GET /loader/v1", auth.AdminOnly, 0, s.getLoader},
		{"GET /v1/link", auth.AnyToken, 0, s.getLink},
		{"GET /v1/health", auth.AdminOnly, 0, s.getHealth},
		{"PUT /v1/config", auth.AdminOnly, 0, s.putConfig},
		{"GET /v1/config", auth.AdminOnly, 0, s.getConfig},
		{"GET /v1/lease", auth.AdminOnly, 0, s.getLease},
		{"PUT /v1/lease", auth.AdminOnly, 0, s.putLease},
		{"POST /v1/shutdown", auth.AdminOnly, 0, s.postShutdown},

		{"POST /v1/processes", auth.SessionToken, change, processes.postProcess},
		{"GET /v1/processes", auth.SessionToken, 0, processes.getProcesses},
		{"GET /v1/processes/{id}", auth.SessionToken, 0, processes.with(getProcess)},
		{"GET /v1/processes/{id}/output", auth.SessionToken, 0, processes.with(getOutput)},
		{"POST /v1/processes/{id}/stdin", auth.SessionToken, 0, processes.with(postStdin)},
		{"POST /v1/processes/{id}/signal", auth.SessionToken, 0, processes.with(changing(sendSignal))},
		{"POST /v1/processes/{id}/resize", auth.SessionToken, 0, processes.with(changing(resizeTerminal))},
		{"DELETE /v1/processes/{id}", auth.SessionToken, 0, processes.deleteProcess},

		{"GET /v1/files", auth.SessionToken, use, files.at(files.getFile)},
		{"PUT /v1/files", auth.SessionToken, use | change, files.at(putFile)},
		{"DELETE /v1/files", auth.SessionToken, use | change, files.at(deleteFile)},
		{"GET /v1/files/stat", auth.SessionToken, use, files.at(statFile)},
		{"GET /v1/files/list", auth.SessionToken, use, files.at(listFiles)},
		{"POST /v1/files/mkdir", auth.SessionToken, use | change, files.at(mkdir)},
		{"GET /v1/tree", auth.SessionToken, use, files.at(getTree)},
		{"PUT /v1/tree", auth.SessionToken, use | change, files.at(putTree)},

		{"PUT /v1/downloads/{id}", auth.AdminOnly, use | change, s.downloads.Put},
		{"GET /v1/downloads/{id}", auth.AdminOnly, 0, s.downloads.Get},
		{"PUT /v1/downloads/{id}/location", auth.AdminOnly, use | change, s.downloads.PutLocation},
		{"DELETE /v1/downloads/{id}", auth.AdminOnly, use | change, s.downloads.Delete},

		{"GET /v1/ports/{port}", auth.SessionToken, 0, s.getPort},
		{"GET /v1/watch", auth.SessionToken, 0, s.getWatch},
		{"GET /v1/usage", auth.SessionToken, 0, s.getUsage},
		{"GET /v1/sessions", auth.AdminOnly, 0, sessions.getSessions},
		{"PUT /v1/sessions/{id}", auth.AdminOnly, 0, sessions.putSession},
		{"DELETE /v1/sessions/{id}", auth.AdminOnly, 0, sessions.deleteSession},
		{"POST /v1/freeze", auth.AdminOnly, use, s.checkpoint.PostFreeze},
		{"POST /v1/park", auth.AdminOnly, use, s.checkpoint.PostPark},
		{"POST " + parking.Path, auth.NoToken, 0, s.checkpoint.PostProof},
		{"POST /v1/thaw", auth.AdminOnly, 0, s.checkpoint.PostThaw},
	}
}

// serviceRequests are those about services and calls.
func (s *Server) serviceRequests() []route {
	services := &serviceHandler{services: s.services, calls: s.calls, config: s.config, persist: s.persist, log: s.options.Logger}
	return []route{
		{"GET /v1/services", auth.AdminOnly, 0, services.getServices},
		{"PUT /v1/services/{service}", auth.AdminOnly, use | change, services.putService},
		{"GET /v1/services/{service}", auth.OwnService, 0, services.with(services.getService)},
		{"DELETE /v1/services/{service}", auth.AdminOnly, 0, services.with(services.deleteService)},
		{"GET /v1/services/{service}/logs", auth.AdminOnly, 0, services.with(getLogs)},
		{"POST /v1/services/{service}/call/{function}", auth.OwnService, use, s.calls.PostCall},
		{"POST /v1/services/{service}/arguments/{id}", auth.OwnService, use, s.calls.PostArguments},
		{"GET /v1/services/{service}/calls", auth.OwnService, 0, s.calls.GetCalls},
		{"GET /v1/services/{service}/calls/{id}", auth.OwnService, 0, s.calls.GetCall},
		{"DELETE /v1/services/{service}/calls/{id}", auth.OwnService, 0, s.calls.DeleteCall},
		{"GET /v1/services/{service}/tokens", auth.AdminOnly, 0, services.with(services.getTokens)},
		{"PUT /v1/services/{service}/tokens/{id}", auth.AdminOnly, 0, services.with(services.putToken)},
		{"DELETE /v1/services/{service}/tokens/{id}", auth.AdminOnly, 0, services.with(services.deleteToken)},
		{"GET /v1/services/{service}/journal", auth.AdminOnly, 0, services.getJournal},
		{"GET /v1/services/{service}/connect", auth.OwnService, use, services.with(services.getConnect)},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range slices.Concat(s.machineRequests(), s.serviceRequests()) {
		mux.Handle(r.pattern, s.answering(r))
	}
	mux.Handle("/", s.answering(route{access: auth.AdminOnly, answer: func(_ http.ResponseWriter, r *http.Request) error {
		return protocol.Errorf(protocol.NotFound, "the runtime has no %s %s", r.Method, r.URL.Path)
	}}))
	return marked(mux)
}

// answering guards a route and writes its errors.
func (s *Server) answering(r route) http.Handler {
	answer := r.answer
	if r.effect&change != 0 {
		answer = s.checkpoint.Changing(answer)
	}
	if r.effect&use != 0 {
		answer = s.used(answer)
	}
	return s.guard.Protect(r.access, func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r); err != nil {
			httpx.WriteError(w, err)
		}
	})
}

// marked has every answer say that it is ours, not one of a tunnel.
func marked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(resumable.Marker, "1")
		next.ServeHTTP(w, r)
	})
}

// used counts a request as use of the machine.
func (s *Server) used(h httpx.Handler) httpx.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		defer s.lease.Begin()()
		return h(w, r)
	}
}
