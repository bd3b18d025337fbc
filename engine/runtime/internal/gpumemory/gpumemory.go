// Package gpumemory takes the processes of the machine off the GPU, so that they can be saved,
// and puts them back. NVIDIA's driver moves what they have on the GPU into their own memory.
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

// Deps is what it takes to move the processes of a machine.
type Deps struct {
	Python    string          // the interpreter of the program that asks the driver
	Environ   func() []string // its environment
	Spawner   *spawn.Spawner
	Processes func() ([]int, error) // those of the machine, without this one
	Persist   func()                // remembers [Memory.Off] before anything is changed
	Patience  time.Duration         // how long [Memory.Resume] waits for memory on the GPU; 0 = 10 s
	Devices   string                // how the paths of the driver's nodes begin; empty = /dev/nvidia
}

// Memory is what the processes of the machine have on GPUs.
type Memory struct {
	deps   Deps
	acting sync.Mutex // one at a time asks the driver
	mu     sync.Mutex
	off    []int // processes that are locked, or will be at once
	parked bool  // between Suspend and Resume, when nothing else may be started
}

// New makes one of a machine that runs.
func New(d Deps) *Memory {
	d.Patience = cmp.Or(d.Patience, 10*time.Second)
	d.Devices = cmp.Or(d.Devices, "/dev/nvidia")
	return &Memory{deps: d}
}

// Off are the processes that were taken off, or are about to be.
func (m *Memory) Off() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.off)
}

// Remember takes up what a runtime before this one has taken off, for [Memory.Resume].
func (m *Memory) Remember(off []int) { m.set(off) }

func (m *Memory) set(off []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = slices.Clone(off)
}

// Suspend takes every process off the GPU. All are locked before any is taken off, since one
// may wait for another. [Memory.Resume] is due afterwards, whatever is returned. It may be called
// again for processes that came later. ctx ends it between two processes.
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
		return nil // some packages load the library anywhere
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

// lockAll locks those that are not yet, and reports whether there were any: each may have
// started another one before.
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
			continue // without a context, or taken off by a program of the machine itself; see Left
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
		return err // it was taken off before
	}
	return m.do(h, checkpoint, pid)
}

// do has the driver do something with a process. One that has ended needs nothing.
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

// Left says which process has the GPU still: one that came after [Memory.Suspend], or whose use
// of it the driver does not take away. nil is none. It is asked while nothing moves.
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

// holder is a process that uses a GPU, or may.
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

// Resume puts back what was taken off, the last first, and then has it continue. It waits for
// memory on the GPU, which may be about to become free. What could not be put back stays in
// [Memory.Off], so that it can be tried again.
func (m *Memory) Resume(ctx context.Context) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.parked = false
	return m.resume(ctx)
}

// Retry is Resume for what that could not put back. It leaves it to the next one where the
// processes have been suspended again meanwhile.
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

// mayPass reports whether it is worth trying again: a killed helper, or memory in use.
func mayPass(err error) bool {
	var r *refusal
	return errors.Is(err, errHelper) || errors.As(err, &r) && r.op == restore && r.result == outOfMemory
}

// putBack restores all before any continues, as all were locked before any was taken off. One
// that cannot be put back does not keep the others.
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

// errLost is of a process that nothing can put back.
var errLost = errors.New("in a failed CUDA state; restart it")

// step is what is done with a process in a state.
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
		return nil // another process has the number by now
	case a.Result != success:
		return refused(getState, pid, a)
	case a.State == failed:
		return fmt.Errorf("process %d (%s) is %w", pid, proc.CommandName(pid), errLost)
	case a.State == s.from:
		return m.do(h, s.op, pid)
	}
	return nil
}
