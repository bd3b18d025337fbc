package gpumemory

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
)

//go:embed cuda.py
var program string

// operation is a call of the driver.
type operation string

const (
	getState   operation = "state"
	lock       operation = "lock"
	checkpoint operation = "checkpoint"
	restore    operation = "restore"
	unlock     operation = "unlock"
)

// state is the state of a process with CUDA (the driver's CUprocessState).
type state int

const (
	running      state = 0
	locked       state = 1
	checkpointed state = 2
	failed       state = 3
)

// callLimit limits one operation on one process. Moving 80 GB through pageable memory takes less.
const callLimit = 5 * time.Minute

// lockLimit limits the driver's wait for a process to end its work on the GPU.
const lockLimit = 10 * time.Second

// helper is the program that calls the driver. It has no state: another one can continue its work.
type helper struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer // closed when the program has ended
	failure error       // of the first call that got no answer
}

// answer is a line of the program's output.
type answer struct {
	Result int    `json:"result"`
	Text   string `json:"text"`
	State  state  `json:"state"`
	Error  string `json:"error"`
	Absent bool   `json:"absent"`
}

var (
	errHelper = errors.New("the program that asks the driver has ended")
	errAbsent = errors.New("this machine has no GPU") // or no driver
)

func startHelper(ctx context.Context, d Deps) (*helper, error) {
	cmd := exec.Command(cmp.Or(d.Python, "python3"), "-I", "-S", "-c", program)
	cmd.Env = d.Environ()
	cmd.SysProcAttr = spawn.ChildAttr()
	h := &helper{cmd: cmd, answers: make(chan answer)}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.in = in
	if err := d.Spawner.Start(cmd); err != nil {
		return nil, fmt.Errorf("start the program that asks the driver: %w", err)
	}
	go h.read(out)
	first, err := h.answer(ctx)
	switch {
	case err == nil && first.Absent:
		err = fmt.Errorf("%w: %s", errAbsent, first.Error)
	case err == nil && first.Error != "":
		err = fmt.Errorf("the driver of the GPU cannot be asked: %s", first.Error)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *helper) read(out io.Reader) {
	defer close(h.answers)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return
		}
		h.answers <- a
	}
}

func (h *helper) answer(ctx context.Context) (answer, error) {
	limit := time.NewTimer(callLimit)
	defer limit.Stop()
	select {
	case a, ok := <-h.answers:
		if !ok {
			return a, errHelper
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-limit.C:
		return answer{}, fmt.Errorf("the driver did not answer within %v", callLimit)
	}
}

// call runs one operation. It takes no context, because the driver completes each operation that
// it has begun. After a call without an answer, all others fail: that answer may come late, and
// nothing tells it from theirs.
func (h *helper) call(op operation, pid int) (answer, error) {
	if h.failure != nil {
		return answer{}, h.failure
	}
	if _, err := fmt.Fprintln(h.in, op, pid, lockLimit.Milliseconds()); err != nil {
		return answer{}, errHelper
	}
	a, err := h.answer(context.Background())
	h.failure = err
	return a, err
}

func (h *helper) close() {
	_ = h.in.Close()
	_ = h.cmd.Process.Kill()
	for range h.answers { // until the program has ended
	}
	_ = h.cmd.Wait()
}
