package watchdog

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
)

// GPUUsage is what a machine uses of the memory of its GPUs.
type GPUUsage struct {
	Bytes int64 `json:"bytes"` // of all its GPUs, when it was last looked at
	Peak  int64 `json:"peak"`  // the most that was seen
}

// GPUUsageName is the file in a machine's folder with its [GPUUsage].
const GPUUsageName = "gpus.json"

// Margin is how much more than its share a machine may use of a GPU: what CUDA takes itself is
// in nobody's count.
func Margin(share int64) int64 { return share/10 + 512<<20 }

// gpuState is what is known of a machine's use of GPUs.
type gpuState struct {
	mu    sync.Mutex
	usage GPUUsage
	over  int    // looks in a row at which it used more than its share
	why   string // it is to end
}

// shares reports whether the machine shares a GPU.
func (m *machine) shares() bool {
	return slices.ContainsFunc(m.note.Claims, func(k gpulease.Kept) bool { return k.Bytes > 0 })
}

// exceeds says why the machine has to end: it has used more than its share for some time.
func (m *machine) exceeds() string {
	m.gpus.mu.Lock()
	defer m.gpus.mu.Unlock()
	return m.gpus.why
}

// lookAtGPUs measures the machines with GPUs, beside everything else: the driver may take long
// to answer. It returns when that is to be done again.
func (w *watchdog) lookAtGPUs(ctx context.Context, now time.Time) (next time.Duration) {
	var watched []*machine
	every := w.limits.gpuLook * gpuPatience
	for _, m := range w.machines {
		if len(m.note.Claims) > 0 && !m.ended.Load() {
			watched = append(watched, m)
			if m.shares() {
				every = w.limits.gpuLook
			}
		}
	}
	if len(watched) == 0 {
		return w.limits.look
	}
	if left := w.asked.Add(every).Sub(now); left > 0 && w.asked.Before(now) || !w.asking.CompareAndSwap(false, true) {
		return min(max(left, every/10), every)
	}
	w.asked = now
	seen, claims := make([]proc.Machine, len(watched)), make([][]gpulease.Kept, len(watched))
	for i, m := range watched {
		seen[i], claims[i] = m.processes(), m.note.Claims
	}
	go func() {
		defer w.asking.Store(false)
		driver, err := w.ask(ctx)
		if err != nil {
			return // the next look tells
		}
		for i, m := range watched {
			if m.measure(driver, claims[i], pidsOf(seen[i]), w.limits.gpuLooks) {
				w.wake()
			}
		}
	}()
	return every
}

// gpuPatience is how much rarer machines are looked at that share no GPU.
const gpuPatience = 5

// pidsOf are the numbers of all processes of a machine, also of those that have changed their
// environment.
func pidsOf(p proc.Machine) map[int]bool {
	pids := map[int]bool{}
	own, _ := p.Processes() // what is not seen is not counted
	for _, root := range []proc.Process{p.Outer, p.Inner} {
		if root.PID > 0 {
			below, _ := proc.Below(root.PID)
			own = append(own, below...)
		}
	}
	for _, one := range own {
		pids[one.PID] = true
	}
	return pids
}

// measure takes over what the driver says, and reports whether the machine has to end.
func (m *machine) measure(driver gpulease.State, claims []gpulease.Kept, pids map[int]bool, looks int) bool {
	m.gpus.mu.Lock()
	defer m.gpus.mu.Unlock()
	sum, over := int64(0), ""
	for _, k := range claims {
		used, listed := int64(0), false
		for _, p := range driver.Processes {
			if p.UUID == k.UUID {
				listed = true
				if pids[p.PID] {
					used += p.Memory
				}
			}
		}
		if !listed && k.Bytes == 0 { // in a container the driver names no processes
			used = driver.Devices[k.UUID].Used
		}
		if sum += used; k.Bytes > 0 && used > k.Bytes+Margin(k.Bytes) {
			over = fmt.Sprintf("it used %s of the GPU %s, more than its share of %s", text.Bytes(used), k.UUID, text.Bytes(k.Bytes))
		}
	}
	if m.gpus.over++; over == "" {
		m.gpus.over = 0
	}
	if m.gpus.over >= looks {
		m.gpus.why = over
	}
	usage := GPUUsage{sum, max(sum, m.gpus.usage.Peak)}
	if usage != m.gpus.usage {
		m.gpus.usage = usage
		if data, err := json.Marshal(usage); err == nil {
			_ = state.WriteFile(filepath.Join(m.root, GPUUsageName), data, 0o600) // only for who asks
		}
	}
	return m.gpus.why != ""
}
