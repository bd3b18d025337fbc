package runtime

import (
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// renew makes this machine another one than that whose memory it has: other keys, another
// end, and calls that nobody has called before.
func (s *Server) renew(r protocol.Renewal) {
	s.admin.Store(&r.AdminSHA256)
	now := time.Now()
	s.lease.mu.Lock()
	s.lease.kind, s.lease.idle, s.lease.lastUse, s.lease.hard = protocol.LeaseBoot, 0, now, time.Time{}
	s.lease.end = now.Add(orDefault(seconds(r.BootSeconds), s.options.FirstLease))
	if r.EndUnix > 0 {
		s.lease.hard = time.Unix(r.EndUnix, 0)
	}
	s.lease.mu.Unlock()
	for _, v := range s.sessions.all() {
		s.sessions.remove(v.ID)
	}
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

// closeGates closes the ways through the gate, and what goes over them.
func (s *Server) closeGates() {
	s.gate.Lock()
	defer s.gate.Unlock()
	for _, l := range s.gates {
		l.Close()
	}
	s.gates = nil
}

func (s *Server) openGates() (err error) {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.gates, err = s.options.Gate.open(s.options.Logger)
	return err
}
