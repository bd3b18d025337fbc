package doctor

import (
	"fmt"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/machine/local/proc"
)

// dying limits the wait until the kernel has ended a killed process.
const dying = 5 * time.Second

// leftBehind records the processes that have outlived a run, and kills them.
func (p *patient) leftBehind(t *trial) {
	var found []proc.Process
	for until := time.Now().Add(dying); ; time.Sleep(20 * time.Millisecond) {
		if found, p.unwatched = leftovers(t.mark, t.folder); len(found) == 0 || time.Now().After(until) {
			break
		}
	}
	for _, f := range found {
		p.left = append(p.left, fmt.Sprintf("%s (%d)", proc.Name(f.PID), f.PID))
		_ = proc.Signal(f, syscall.SIGKILL)
	}
}

// leftovers returns the processes that have a variable, NAME=VALUE, or work in a folder.
func leftovers(mark, dir string) ([]proc.Process, error) {
	marked, err := proc.Carriers(mark)
	if err != nil {
		return nil, err
	}
	inside, err := proc.WorkingIn(dir)
	for _, p := range inside {
		if !proc.Carries(p.PID, mark) {
			marked = append(marked, p)
		}
	}
	return marked, err
}
