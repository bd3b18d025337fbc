// Package gpumemory takes the processes of the machine off the GPU, so that they can be saved,
// and puts them back. NVIDIA's driver moves their GPU memory into their main memory.
package gpumemory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
)

// Deps are the dependencies of a [Memory].
type Deps struct {
	Python    string          // interpreter of the program that calls the driver; empty = python3
	Environ   func() []string // environment of that program
	Spawner   *spawn.Spawner
	Processes func() ([]int, error) // the processes of the machine, without this one
	Persist   func()                // saves [Memory.Off]; called before a process is locked
	Patience  time.Duration         // limit of [Memory.Resume]'s wait for memory on the GPU; 0 = 10 s
	Devices   string                // prefix of the paths of the driver's nodes; empty = /dev/nvidia
}

// Memory is the GPU memory of the machine's processes.
type Memory struct {
	deps   Deps
	acting sync.Mutex // serializes the calls of the driver
	mu     sync.Mutex
	off    []int // processes that are locked, or are about to be
	parked bool  // between Suspend and Resume; no other program may start then
}

// New returns the Memory of a running machine.
func New(d Deps) *Memory {
	d.Patience = cmp.Or(d.Patience, 10*time.Second)
	d.Devices = cmp.Or(d.Devices, "/dev/nvidia")
	return &Memory{deps: d}
}

// Off returns the processes that are off the GPU, or are about to be.
func (m *Memory) Off() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.off)
}

// Remember sets the processes that an earlier runtime has taken off, for [Memory.Resume].
func (m *Memory) Remember(off []int) { m.set(off) }

func (m *Memory) set(off []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = slices.Clone(off)
}

// Suspend takes every process off the GPU. It locks all processes before it takes off the first
// one, because one process may wait for another. The caller must call [Memory.Resume] afterwards,
// also after an error. It may call Suspend again for processes that have started since. When ctx
// ends, Suspend stops between two processes.
func (m *Memory) Suspend(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.parked = true
	found, err := m.holders()
	if err != nil || len(found) == 0 {
		return err
	}
	h, err := startHelper(ctx, m.deps)
	if errors.Is(err, errAbsent) {
		return nil // some packages load libcuda on machines without a GPU
	}
	if err != nil {
		return err
	}
	defer h.close()
	for {
		more, err := m.lockAll(ctx, h, found)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if found, err = m.holders(); err != nil {
			return err
		}
	}
	for _, pid := range m.Off() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.takeOff(h, pid); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lockAll locks the processes that are not locked yet, and reports whether it found any. If so,
// the caller looks again: such a process may have started another one before.
func (m *Memory) lockAll(ctx context.Context, h *helper, found []holder) (more bool, err error) {
	for _, p := range found {
		if err := ctx.Err(); err != nil {
			return more, err
		}
		if p.pid == h.cmd.Process.Pid || slices.Contains(m.Off(), p.pid) {
			continue
		}
		a, err := h.call(getState, p.pid)
		switch {
		case err != nil:
			return more, err
		case a.Result != success || a.State == checkpointed:
			continue // no CUDA context, or a program of the machine has taken it off; see Left
		case a.State != running:
			why := errors.New("locked by another program; have that unlock it")
			if a.State == failed {
				why = errLost
			}
			return more, fmt.Errorf("process %d (%s) is %w", p.pid, proc.CommandName(p.pid), why)
		}
		more = true
		m.set(append(m.Off(), p.pid))
		m.deps.Persist()
		if err := m.do(h, lock, p.pid); err != nil {
			return more, err
		}
	}
	return more, nil
}

func (m *Memory) takeOff(h *helper, pid int) error {
	a, err := h.call(getState, pid)
	if err != nil || a.Result == success && a.State != locked {
		return err // an earlier call has taken it off
	}
	return m.do(h, checkpoint, pid)
}

// do calls the driver for one process. A refusal for a process that has ended is no error.
func (m *Memory) do(h *helper, op operation, pid int) error {
	a, err := h.call(op, pid)
	switch {
	case err != nil:
		return fmt.Errorf("%s process %d (%s): %w", verbs[op], pid, proc.CommandName(pid), err)
	case a.Result == success || !lives(pid):
		return nil
	}
	return refused(op, pid, a)
}

func lives(pid int) bool {
	t, err := proc.Read()
	_, found := t[pid]
	return err != nil || found
}

// Left returns an error that names a process with an open GPU, or nil if no process has one. Such a
// process has started after [Memory.Suspend], or uses the GPU in a way that the driver cannot
// suspend. The processes must be paused during the call.
func (m *Memory) Left() error {
	found, err := m.holders()
	if err != nil {
		return err
	}
	for _, p := range found {
		if p.device != "" {
			return fmt.Errorf("process %d (%s) has %s open, and nothing that the driver can take off the GPU: it uses NVML, as nvidia-smi and torch.cuda.utilization do, or was forked from a process with CUDA; end it",
				p.pid, proc.CommandName(p.pid), p.device)
		}
	}
	return nil
}

// holder is a process that may use a GPU.
type holder struct {
	pid int
	use
}

func (m *Memory) holders() ([]holder, error) {
	pids, err := m.deps.Processes()
	if err != nil {
		return nil, err
	}
	slices.Sort(pids)
	var found []holder
	for _, pid := range pids {
		if u := useOf(pid, m.deps.Devices); u != (use{}) {
			found = append(found, holder{pid, u})
		}
	}
	return found, nil
}

// Resume puts the processes of [Memory.Off] back on the GPU, in reverse order, and then lets them
// continue. If the GPU lacks memory, it tries again for [Deps].Patience. Processes that it cannot
// put back stay in [Memory.Off] for [Memory.Retry], except those that the driver has lost.
func (m *Memory) Resume(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.parked = false
	return m.resume(ctx)
}

// Retry puts back the processes that [Memory.Resume] could not put back. It does nothing if
// [Memory.Suspend] has been called since: the next Resume puts them back.
func (m *Memory) Retry(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	if m.parked {
		return nil
	}
	return m.resume(ctx)
}

func (m *Memory) resume(ctx context.Context) error {
	if len(m.Off()) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.deps.Patience)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		err := m.putBack()
		if err == nil || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// mayPass reports whether a later try may succeed: the helper was killed, or the GPU lacked
// memory.
func mayPass(err error) bool {
	var r *refusal
	return errors.Is(err, errHelper) || errors.As(err, &r) && r.op == restore && r.result == outOfMemory
}

// putBack restores all processes before the first one continues, as Suspend locks all of them
// before it takes off the first one. If it cannot put back one, it goes on with the others.
func (m *Memory) putBack() error {
	h, err := startHelper(context.Background(), m.deps)
	if err != nil {
		return err
	}
	defer h.close()
	errs := map[int]error{}
	for _, step := range []step{{checkpointed, restore}, {locked, unlock}} {
		for _, pid := range slices.Backward(m.Off()) {
			if errs[pid] == nil {
				errs[pid] = m.step(h, step, pid)
			}
		}
	}
	var left []int
	var failures []error
	for _, pid := range m.Off() {
		if errs[pid] == nil {
			continue
		}
		failures = append(failures, errs[pid])
		if !errors.Is(errs[pid], errLost) {
			left = append(left, pid)
		}
	}
	m.set(left)
	return errors.Join(failures...)
}

// errLost is the error of a process that the driver cannot put back.
var errLost = errors.New("in a failed CUDA state; restart it")

// step is an operation for the processes in one state.
type step struct {
	from state
	op   operation
}

func (m *Memory) step(h *helper, s step, pid int) error {
	if !lives(pid) {
		return nil
	}
	a, err := h.call(getState, pid)
	switch {
	case err != nil:
		return err
	case a.Result == invalidValue || a.Result == notInitialized:
		return nil // the PID belongs to another process by now
	case a.Result != success:
		return refused(getState, pid, a)
	case a.State == failed:
		return fmt.Errorf("process %d (%s) is %w", pid, proc.CommandName(pid), errLost)
	case a.State == s.from:
		return m.do(h, s.op, pid)
	}
	return nil
}
