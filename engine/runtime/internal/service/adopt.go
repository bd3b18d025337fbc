package service

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

func (w *Worker) saved(generation int) *savedWorker {
	if w == nil || w.Gone() {
		return nil
	}
	return &savedWorker{ID: w.id, Dir: w.dir, Pid: w.PID, Generation: generation}
}

// adopt takes over a worker that an earlier runtime has started. It may have died
// meanwhile; it is then returned as one that has.
func (t *Manager) adopt(v *Service, saved *savedWorker) *Worker {
	w := t.newWorker(v, saved.ID)
	w.dir = saved.Dir
	if saved.Pid > 0 && proc.HasVariable(saved.Pid, w.cookie()) {
		w.PID = saved.Pid
	}
	if w.PID > 0 && w.connect() == nil {
		go w.wait()
		return w
	}
	_ = proc.KillTree(w.PID, w.cookie()) // nobody can speak with it
	close(w.Exited)
	os.RemoveAll(w.dir)
	return w
}

// endUnknown ends the processes of services that nothing is known of: they were
// loading when their runtime died, or it died before it could note them.
func (t *Manager) endUnknown(known map[string]bool) {
	table, err := proc.Read()
	if err != nil {
		return // without /proc nothing outlives its runtime
	}
	loader := map[int]bool{os.Getppid(): true}
	for pid := range table {
		id, machine := proc.Variable(pid, environment.ProcessVariable), proc.Variable(pid, environment.MachineVariable)
		if !strings.HasPrefix(id, "service/") || known[id] || machine != t.deps.Env.Machine {
			continue
		}
		if t.deps.Env.Machine != "" || table.Below(pid, loader) {
			_ = proc.KillTree(0, environment.ProcessVariable+"="+id)
		}
	}
}
