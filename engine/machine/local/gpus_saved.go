package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// gpuNote names the driver and the GPUs of saved processes. The driver can put them back only on
// the GPUs that they were on.
type gpuNote struct {
	Driver string     `json:"driver"`
	GPUs   []savedGPU `json:"gpus"`
}

type savedGPU struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`  // as nvidia-smi reports it
	Bytes int64  `json:"bytes"` // memory of the processes on it
}

func (g *gpuNote) bytes() (sum int64) {
	if g == nil {
		return 0
	}
	for _, one := range g.GPUs {
		sum += one.Bytes
	}
	return sum
}

// refuses returns the reason why this computer's GPUs do not fit the saved processes; empty = they
// fit.
func (g *gpuNote) refuses(here isolation.GPUSet) string {
	switch {
	case g == nil:
		return ""
	case here.Reason != "":
		return "they were on a GPU, and those of this computer cannot be used: " + here.Reason
	}
	var models []string
	for _, one := range here.Found {
		models = append(models, one.Name)
	}
	for _, saved := range g.GPUs {
		switch {
		case !slices.Contains(models, saved.Name):
			return fmt.Sprintf("they were on a GPU %s, and this computer has: %s", saved.Name, cmp.Or(strings.Join(models, ", "), "none"))
		case here.Driver != g.Driver:
			return fmt.Sprintf("version %s of NVIDIA's driver has saved them, and version %s is installed here", g.Driver, here.Driver)
		case !slices.ContainsFunc(here.Found, func(one isolation.GPU) bool { return one.UUID == saved.UUID }):
			return fmt.Sprintf("they go back only on the GPU that they were on, %s (%s), and this computer has others of that model", saved.UUID, saved.Name)
		}
	}
	return ""
}

// gpuSaving tracks the GPU memory of a machine during a save.
type gpuSaving struct {
	set    isolation.GPUSet
	uuids  []string
	copies int // number of forks that start at once, on the same GPUs; 0 = a snapshot
	before map[string]isolation.GPUUse
}

// gpusToSave measures the GPUs before the driver moves their memory; nil for a machine without
// GPUs. It refuses a save if that memory does not fit into the main memory of the machine.
func gpusToSave(ctx context.Context, p *provider, n *note, copies int) (*gpuSaving, error) {
	if len(n.GPUs) == 0 {
		return nil, nil
	}
	set, err := p.GPUs(ctx)
	if err != nil {
		return nil, err
	}
	g := &gpuSaving{set: set, uuids: n.GPUs, copies: copies}
	if g.before, err = set.Use(ctx); err != nil {
		return nil, err
	}
	bytes := g.most()
	if left, limited := n.Limits.MemoryLeft(); limited && left < bytes {
		return nil, sdk.Errorf(sdk.NoCapacity, "the processes cannot be saved: up to %s on the GPU must move into the memory of the sandbox, and %s are left of its limit; start it with a larger memory_gb",
			text.Bytes(bytes), text.Bytes(left))
	}
	return g, checkMemory(p.memoryFree, bytes, max(1, copies))
}

// most is an upper bound of the machine's GPU memory in bytes: it includes the memory of others on
// the same GPUs.
func (g *gpuSaving) most() (bytes int64) {
	for _, uuid := range g.uuids {
		bytes += g.before[uuid].Used
	}
	return bytes
}

// checkMemory returns an error if bytes do not fit so many times into the memory of this computer.
func checkMemory(memoryFree func() (int64, error), bytes int64, times int) error {
	free, err := memoryFree()
	if err != nil || free >= bytes*int64(times) {
		return err
	}
	each := ""
	if times > 1 {
		each = fmt.Sprintf(" for each of %d copies", times)
	}
	return sdk.Errorf(sdk.NoCapacity, "what lies on the GPU goes through the memory of this computer: up to %s%s, and %s are available; end what uses memory%s",
		text.Bytes(bytes), each, text.Bytes(free), map[bool]string{true: ", or make fewer copies"}[times > 1])
}

// memoryFree is the memory of this computer in bytes that is available to programs.
func memoryFree() (int64, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		var kB int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kB); n == 1 {
			return kB << 10, nil
		}
	}
	return cgroup.ComputerMemory()
}

// patience is the additional time limit for moving the memory of the GPUs.
func (g *gpuSaving) patience() time.Duration {
	const slow = 256 << 20 // bytes per second through pageable memory
	if g == nil {
		return 0
	}
	return time.Duration(g.most()/slow) * time.Second
}

// measure computes the processes' GPU memory, after they have been taken off the GPUs. It refuses
// copies for which the GPUs lack memory.
func (g *gpuSaving) measure(ctx context.Context) (*gpuNote, error) {
	if g == nil {
		return nil, nil
	}
	now, err := g.set.Use(ctx)
	if err != nil {
		return nil, err
	}
	saved := &gpuNote{Driver: g.set.Driver}
	for _, one := range g.set.Found {
		if !slices.Contains(g.uuids, one.UUID) {
			continue
		}
		bytes := max(0, g.before[one.UUID].Used-now[one.UUID].Used)
		saved.GPUs = append(saved.GPUs, savedGPU{UUID: one.UUID, Name: one.Name, Bytes: bytes})
		free, needed := now[one.UUID].Total-now[one.UUID].Used, bytes*int64(g.copies+1)
		if g.copies > 0 && needed > free {
			return nil, sdk.Errorf(sdk.NoCapacity, "the original and its copies (%d) need %s on the GPU %s, of which others leave %s: %s are missing; make fewer copies",
				g.copies, text.Bytes(needed), one.Name, text.Bytes(free), text.Bytes(needed-free))
		}
	}
	if len(saved.GPUs) < len(g.uuids) {
		return nil, sdk.Errorf(sdk.Unavailable, "nvidia-smi does not list all GPUs of the sandbox any more: %s; see the kernel's log", strings.Join(g.uuids, ", "))
	}
	return saved, nil
}

// onGPU reports whether the saved processes were on a GPU.
func (r *restored) onGPU() bool { return r != nil && r.Host.GPU != nil }

// wishAgain returns a machine's wish for GPUs. Saved processes get only the GPUs that they were on.
// Copies share them with one another and with their original, whose handle goes into the note.
func wishAgain(p *provider, handle string, n *note, again *restored) (gpulease.Wish, error) {
	w := wishOf(n.Spec)
	w.Group = handle
	if !again.onGPU() {
		return w, nil
	}
	for _, saved := range again.Host.GPU.GPUs {
		w.Exact = append(w.Exact, saved.UUID)
	}
	if again.Share == "" {
		return w, nil
	}
	original, err := p.folder(again.Share).read()
	if err != nil {
		return w, err
	}
	if n.Shares = again.Share; original != nil {
		n.Shares = cmp.Or(original.Shares, n.Shares)
	}
	w.Group = n.Shares
	return w, nil
}
