package local

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// gpuNames are the models of this computer's GPUs, each once.
func gpuNames(set isolation.GPUSet) (out []string) {
	for _, g := range set.Found {
		if name := gpu.Canonical(g.Name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// gpuOffers has an entry for each model that is wanted and here in that number.
func (p *provider) gpuOffers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	set, err := p.GPUs(ctx)
	if err != nil {
		return nil, err
	}
	if set.Reason != "" {
		return nil, sdk.Errorf(sdk.Unsupported, "the GPUs of this computer cannot be used: %s", set.Reason)
	}
	used, err := p.usedGPUs(func(string, *note) bool { return false })
	if err != nil {
		return nil, err
	}
	var out []sdk.Offer
	for _, name := range gpuNames(set) {
		if !gpu.Match(q.GPU, name) {
			continue
		}
		o := sdk.Offer{ID: Name + "-" + name, GPU: name, GPUCount: q.GPUCount, Region: runtime.GOOS + "/" + runtime.GOARCH}
		all, free := 0, 0
		for _, g := range set.Found {
			if gpu.Canonical(g.Name) != name {
				continue
			}
			all++
			if !used[g.UUID] {
				free++
			}
			o.GPUMemoryGB = float64(g.Memory) / (1 << 30)
		}
		switch want := max(1, q.GPUCount); {
		case want > all:
			continue
		case want > free:
			o.Stock = sdk.StockNone
		default:
			o.Stock = sdk.StockHigh
		}
		out = append(out, o)
	}
	return out, nil
}

// takeGPUs chooses the machine's GPUs and puts them into its note. A GPU is one machine's
// until that ends, but for copies. The lock is to be held until the note is written down.
func (p *provider) takeGPUs(ctx context.Context, handle string, n *note, again *restored) (set isolation.GPUSet, taken []isolation.GPU, lock *state.Lock, err error) {
	if set, err = p.GPUs(ctx); err != nil {
		return set, nil, nil, err
	}
	if lock, err = p.lock(ctx, "gpus"); err != nil {
		return set, nil, nil, err
	}
	if again != nil && again.Host.GPU != nil {
		taken, n.Shares, err = takeAgain(p, set, handle, again)
	} else {
		var used map[string]bool
		if used, err = p.usedGPUs(func(h string, _ *note) bool { return h == handle }); err == nil {
			taken, err = takeFree(set, used, n.Spec)
		}
	}
	if err != nil {
		lock.Remove()
		return set, nil, nil, err
	}
	for _, g := range taken {
		n.GPUs = append(n.GPUs, g.UUID)
	}
	return set, taken, lock, nil
}

func takeFree(set isolation.GPUSet, used map[string]bool, spec *sdk.MachineSpec) (taken []isolation.GPU, err error) {
	want, all := max(1, spec.GPUCount), 0
	for _, g := range set.Found {
		if !gpu.Match(strings.TrimSuffix(spec.GPU, "!"), gpu.Canonical(g.Name)) {
			continue
		}
		all++
		if !used[g.UUID] && len(taken) < want {
			taken = append(taken, g)
		}
	}
	switch {
	case len(taken) == want:
		return taken, nil
	case all < want:
		err = sdk.Errorf(sdk.Unsupported, "this computer has %d × %s and not %d (it has: %s); ask for what there is, or choose another provider",
			all, spec.GPU, want, strings.Join(gpuNames(set), ", "))
	default:
		err = remedy.For(sdk.Errorf(sdk.NoCapacity, "%d × %s requested, %d of this computer's %d free: other sandboxes use the rest; end one of them",
			want, spec.GPU, len(taken), all), remedy.Remedy{Action: remedy.ListSandboxes}, remedy.Remedy{Action: remedy.EndSandbox})
	}
	return nil, err
}

// usedGPUs are the GPUs of the machines that live, but for some.
func (p *provider) usedGPUs(but func(handle string, n *note) bool) (map[string]bool, error) {
	used := map[string]bool{}
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, entry := range entries {
		handle, isNote := strings.CutSuffix(entry.Name(), ".json")
		if !isNote || !validHandle(handle) {
			continue
		}
		f := p.folder(handle)
		n, err := f.read()
		if err != nil || n == nil || len(n.GPUs) == 0 || but(handle, n) || !f.lives(n) && !starting(p.lockPath(handle), f, n) {
			continue
		}
		for _, id := range n.GPUs {
			used[id] = true
		}
	}
	return used, nil
}

// starting reports whether somebody is just about to start the machine, or has since its
// note was read.
func starting(lockPath string, f folder, n *note) bool {
	if n.Outer.PID != 0 {
		return false
	}
	lock, held, err := state.TryAcquire(lockPath)
	if err != nil || held {
		return true
	}
	defer lock.Release()
	n, err = f.read()
	return err != nil || n != nil && f.lives(n)
}

// showGPUs puts the GPUs into what isolation gives the machine. Elsewhere, all are there
// anyway and only the variables tell which are meant.
func showGPUs(spec *isolation.Spec, set isolation.GPUSet, taken []isolation.GPU, kind string) error {
	if len(taken) == 0 {
		return nil
	}
	var ids []string
	var indexes []int
	for _, g := range taken {
		ids, indexes = append(ids, g.UUID), append(indexes, g.Index)
	}
	spec.Env["NVIDIA_VISIBLE_DEVICES"], spec.Env["CUDA_VISIBLE_DEVICES"] = strings.Join(ids, ","), strings.Join(ids, ",")
	if kind == isolation.None {
		return nil
	}
	devices, err := set.Devices(indexes)
	if err != nil {
		return err
	}
	spec.Devices = append(spec.Devices, devices...)
	image := spec.Root.Image != ""
	spec.Mounts = append(spec.Mounts, set.Mounts(image)...)
	for name, value := range set.Env(image, spec.Env["PATH"]) {
		if have := spec.Env[name]; name == "LD_LIBRARY_PATH" && have != "" { // the image's own libraries first
			value = have + ":" + value
		}
		spec.Env[name] = value
	}
	return nil
}
