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
	s.services.Renew(r.Services)
	s.saving.Lock()
	s.started = now.Unix()
	s.saving.Unlock()
	s.options.Logger.Info("the machine is a copy and has its own keys now")
}
