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

// gpuNote is what saved processes need of GPUs. The driver puts them back on the very GPUs
// they were on.
type gpuNote struct {
	Driver string     `json:"driver"`
	GPUs   []savedGPU `json:"gpus"`
}

type savedGPU struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`  // as nvidia-smi says it
	Bytes int64  `json:"bytes"` // that the processes had on it
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

// refuses says what of this computer's GPUs does not fit; empty if all does.
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

// gpuSaving follows the memory on the GPUs of a machine that is saved.
type gpuSaving struct {
	set    isolation.GPUSet
	uuids  []string
	copies int // that will be made at once, on the same GPUs
	before map[string]isolation.GPUUse
}

// gpusToSave looks at the GPUs before anything is moved; nil for a machine without. It
// refuses what has no place in memory: what lies on a GPU goes through that of the machine.
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

// most is the upper bound of what the machine has on its GPUs: others may have some of it.
func (g *gpuSaving) most() (bytes int64) {
	for _, uuid := range g.uuids {
		bytes += g.before[uuid].Used
	}
	return bytes
}

// checkMemory refuses what does not fit into the memory of this computer.
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

// memoryFree is the memory of this computer that programs may still take.
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

// patience is how long moving the memory of GPUs may take, besides everything else.
func (g *gpuSaving) patience() time.Duration {
	const slow = 256 << 20 // bytes in a second, through pageable memory
	if g == nil {
		return 0
	}
	return time.Duration(g.most()/slow) * time.Second
}

// measure notes what the processes had on the GPUs, now that they are off them. It refuses copies
// for which the GPUs lack memory.
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

// wishAgain is what a machine wants of GPUs. Saved processes go on only with those that they
// were on. Copies share them with their original, which goes into the note, and with one another.
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
