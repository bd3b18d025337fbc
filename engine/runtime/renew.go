package runtime

import (
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// renew makes this machine another one than that whose memory it has: other keys, another
// end, and calls that nobody has called before.
func (s *Server) renew(r protocol.Renewal) {
	s.guard.SetAdmin(r.AdminSHA256)
	now := time.Now()
	var hard time.Time
	if r.EndUnix > 0 {
		hard = time.Unix(r.EndUnix, 0)
	}
	s.lease.Replace(now, orDefault(httpx.Seconds(r.BootSeconds), s.options.FirstLease), hard)
	s.sessions.RemoveAll()
	for _, v := range s.services.all() {
		v.renew(r.Services[v.name])
	}
	s.saving.Lock()
	s.started = now.Unix()
	s.saving.Unlock()
	s.options.Logger.Info("the machine is a copy and has its own keys now")
}

// renew gives the service another token, takes away all others, and has its workers
// begin anew.
func (v *service) renew(hash string) {
	v.mu.Lock()
	for _, g := range append([]*generation{v.current, v.loading}, v.recent...) {
		if g != nil {
			g.spec.TokenSHA256 = hash // empty: nobody has such a token
		}
	}
	v.tokens = nil
	v.leaving, v.dead = nil, nil
	v.mu.Unlock()
	v.tellTokens()
	for _, w := range v.workers() {
		if err := w.send(controlLine{Kind: "renew"}, nil); err != nil && !w.gone() {
			v.server.options.Logger.Error("a worker was not told that it is a copy", "service", v.name, "error", err)
		}
	}
}
