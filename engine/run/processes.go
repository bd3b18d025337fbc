package run

import (
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/machine/local/proc"
)

// ask tells the agent's processes to end. They are asked themselves, because the
// sandboxing program above them would end at once and take them along.
func ask(pid int) {
	asked := false
	if proc.Name(pid) != "bwrap" {
		asked = syscall.Kill(pid, syscall.SIGTERM) == nil
	}
	below, _ := proc.Below(pid) // without the list, the group is asked
	for _, p := range below {
		if proc.Name(p.PID) != "bwrap" {
			asked = proc.Signal(p, syscall.SIGTERM) == nil || asked
		}
	}
	if !asked {
		_ = syscall.Kill(-pid, syscall.SIGTERM)
	}
}

// endMarked kills every process that has the variable, again and again until there
// is none, as one may be forking meanwhile.
func endMarked(variable string) {
	for range 200 {
		left, err := proc.Carriers(variable)
		if err != nil || len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = proc.Signal(p, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
