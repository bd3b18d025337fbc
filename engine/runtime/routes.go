package runtime

import (
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/protocol/resumable"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// route is one kind of request: who may send it, what it does to the machine, and what
// answers it.
type route struct {
	pattern string
	access  access
	effect  effect
	answer  httpx.Handler
}

// effect is what a request means for the machine.
type effect int

const (
	use    effect = 1 << iota // it is being used, and its lease goes on
	change                    // its files change: not while it is frozen
)

// requests are all that the runtime answers; docs/protocol.md tells of each.
func (s *Server) requests() []route {
	return []route{
		{"GET /loader/v1", adminOnly, 0, s.getLoader},
		{"GET /v1/link", anyToken, 0, s.getLink},
		{"GET /v1/health", adminOnly, 0, s.getHealth},
		{"PUT /v1/config", adminOnly, 0, s.putConfig},
		{"GET /v1/config", adminOnly, 0, s.getConfig},
		{"GET /v1/lease", adminOnly, 0, s.getLease},
		{"PUT /v1/lease", adminOnly, 0, s.putLease},
		{"POST /v1/shutdown", adminOnly, 0, s.postShutdown},

		{"POST /v1/processes", ofSession, change, s.postProcess},
		{"GET /v1/processes", ofSession, 0, s.getProcesses},
		{"GET /v1/processes/{id}", ofSession, 0, s.getProcess},
		{"GET /v1/processes/{id}/output", ofSession, 0, s.getOutput},
		{"POST /v1/processes/{id}/stdin", ofSession, 0, s.postStdin},
		{"POST /v1/processes/{id}/signal", ofSession, 0, s.postSignal},
		{"POST /v1/processes/{id}/resize", ofSession, 0, s.postResize},
		{"DELETE /v1/processes/{id}", ofSession, 0, s.deleteProcess},

		{"GET /v1/files", ofSession, use, s.getFile},
		{"PUT /v1/files", ofSession, use | change, s.putFile},
		{"DELETE /v1/files", ofSession, use | change, s.deleteFile},
		{"GET /v1/files/stat", ofSession, use, s.statFile},
		{"GET /v1/files/list", ofSession, use, s.listFiles},
		{"POST /v1/files/mkdir", ofSession, use | change, s.mkdir},
		{"GET /v1/tree", ofSession, use, s.getTree},
		{"PUT /v1/tree", ofSession, use | change, s.putTree},

		{"GET /v1/ports/{port}", ofSession, 0, s.getPort},
		{"GET /v1/watch", ofSession, 0, s.getWatch},
		{"GET /v1/usage", ofSession, 0, s.getUsage},
		{"GET /v1/sessions", adminOnly, 0, s.getSessions},
		{"PUT /v1/sessions/{id}", adminOnly, 0, s.putSession},
		{"DELETE /v1/sessions/{id}", adminOnly, 0, s.deleteSession},
		{"POST /v1/freeze", adminOnly, use, s.postFreeze},
		{"POST /v1/park", adminOnly, use, s.postPark},
		{"POST " + parking.Path, nobody, 0, s.postProof},
		{"POST /v1/thaw", adminOnly, 0, s.postThaw},

		{"GET /v1/services", adminOnly, 0, s.getServices},
		{"PUT /v1/services/{service}", adminOnly, use | change, s.putService},
		{"GET /v1/services/{service}", ownService, 0, s.getService},
		{"DELETE /v1/services/{service}", adminOnly, 0, s.deleteService},
		{"GET /v1/services/{service}/logs", adminOnly, 0, s.getLogs},
		{"POST /v1/services/{service}/call/{function}", ownService, use, s.postCall},
		{"POST /v1/services/{service}/arguments/{id}", ownService, use, s.postArguments},
		{"GET /v1/services/{service}/calls", ownService, 0, s.getCalls},
		{"GET /v1/services/{service}/calls/{id}", ownService, 0, s.getCall},
		{"DELETE /v1/services/{service}/calls/{id}", ownService, 0, s.deleteCall},
		{"GET /v1/services/{service}/tokens", adminOnly, 0, s.getTokens},
		{"PUT /v1/services/{service}/tokens/{id}", adminOnly, 0, s.putToken},
		{"DELETE /v1/services/{service}/tokens/{id}", adminOnly, 0, s.deleteToken},
		{"GET /v1/services/{service}/journal", adminOnly, 0, s.getJournal},
		{"GET /v1/services/{service}/connect", ownService, use, s.getConnect},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.requests() {
		mux.Handle(r.pattern, s.answering(r))
	}
	mux.Handle("/", s.answering(route{access: adminOnly, answer: func(_ http.ResponseWriter, r *http.Request) error {
		return protocol.Errorf(protocol.NotFound, "the runtime has no %s %s", r.Method, r.URL.Path)
	}}))
	return marked(mux)
}

// answering guards a route and writes its errors.
func (s *Server) answering(r route) http.Handler {
	answer := r.answer
	if r.effect&change != 0 {
		answer = s.changing(answer)
	}
	if r.effect&use != 0 {
		answer = s.used(answer)
	}
	return s.guard(r.access, func(w http.ResponseWriter, r *http.Request) {
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
