package runtime

import (
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
)

// savedWorker is what a later runtime needs to find a worker again.
type savedWorker struct {
	ID         string `json:"id"`
	Dir        string `json:"dir"`
	Pid        int    `json:"pid"`
	Generation int    `json:"generation"`
}

func (w *worker) saved(generation int) *savedWorker {
	if w == nil || w.gone() {
		return nil
	}
	return &savedWorker{ID: w.id, Dir: w.dir, Pid: w.pid, Generation: generation}
}

// adopt takes over a worker that an earlier runtime has started. It may have died
// meanwhile; it is then returned as one that has.
func (s *Server) adopt(v *service, saved *savedWorker) *worker {
	w := s.newWorker(v, saved.ID)
	w.dir = saved.Dir
	if saved.Pid > 0 && proc.HasVariable(saved.Pid, w.cookie()) {
		w.pid = saved.Pid
	}
	if w.pid > 0 && w.connect() == nil {
		go w.wait()
		return w
	}
	_ = proc.KillTree(w.pid, w.cookie()) // nobody can speak with it
	close(w.exited)
	os.RemoveAll(w.dir)
	return w
}

// endUnknown ends the processes of services that nothing is known of: they were
// loading when their runtime died, or it died before it could note them.
func (s *Server) endUnknown(known map[string]bool) {
	t, err := proc.Read()
	if err != nil {
		return // without /proc nothing outlives its runtime
	}
	loader := map[int]bool{os.Getppid(): true}
	for pid := range t {
		id, machine := proc.Variable(pid, environment.ProcessVariable), proc.Variable(pid, environment.MachineVariable)
		if !strings.HasPrefix(id, "service/") || known[id] || machine != s.env.Machine {
			continue
		}
		if s.env.Machine != "" || t.Below(pid, loader) {
			_ = proc.KillTree(0, environment.ProcessVariable+"="+id)
		}
	}
}
