package gpumemory

import (
	"fmt"

	"github.com/seer-engine/seer/engine/runtime/internal/proc"
)

// The results of the driver (CUresult) that this package handles.
const (
	success        = 0
	invalidValue   = 1
	outOfMemory    = 2
	notInitialized = 3
	noDevice       = 100
	illegalState   = 401
	notReady       = 600
	notPermitted   = 800
	notSupported   = 801
)

// reasons explain the results in error messages.
var reasons = map[int]string{
	invalidValue:   "the driver does not know the process",
	outOfMemory:    "the GPU, or this machine, has not enough free memory",
	notInitialized: "the process has not initialized CUDA",
	noDevice:       "the machine has no GPU (any more)",
	illegalState:   "the process is not in the state for it; another program may have locked it",
	notReady:       fmt.Sprintf("its work on the GPU did not end within %v; wait for the kernel that runs", lockLimit),
	notPermitted:   "the process belongs to another user",
	notSupported:   "it shares memory with other processes or GPUs (CUDA IPC, NCCL, peer access), or uses another function that the driver cannot save; end that first",
}

// verbs name the operations in error messages.
var verbs = map[operation]string{
	getState: "ask for the state of", lock: "pause the GPU work of", checkpoint: "take off the GPU", restore: "put back on the GPU", unlock: "continue the GPU work of",
}

// refusal is the error of an operation that the driver has refused.
type refusal struct {
	op     operation
	pid    int
	name   string
	result int
	text   string // the driver's own message
}

func refused(op operation, pid int, a answer) *refusal {
	return &refusal{op: op, pid: pid, name: proc.CommandName(pid), result: a.Result, text: a.Text}
}

func (r *refusal) Error() string {
	why, known := reasons[r.result]
	if !known {
		why = "the driver says: " + r.text
	}
	return fmt.Sprintf("%s process %d (%s): %s (CUDA error %d)", verbs[r.op], r.pid, r.name, why, r.result)
}
