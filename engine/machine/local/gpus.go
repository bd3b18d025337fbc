package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/remedy"
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

// leased are the GPUs of this computer in the form of package gpulease.
func leased(set isolation.GPUSet) (out []gpulease.GPU) {
	for _, g := range set.Found {
		out = append(out, gpulease.GPU{Index: g.Index, Name: gpu.Canonical(g.Name), UUID: g.UUID, Memory: g.Memory})
	}
	return out
}

// gpuPool shares the GPUs of this computer with its other users.
type gpuPool struct {
	*Options
	tickets tickets
}

// usable finds the GPUs of this computer. The error names the reason why Seer cannot use them.
func (p *gpuPool) usable(ctx context.Context) (isolation.GPUSet, error) {
	set, err := p.GPUs(ctx)
	if err == nil && set.Reason != "" {
		err = sdk.Errorf(sdk.Unsupported, "the GPUs of this computer cannot be used: %s", set.Reason)
	}
	return set, err
}

// offers has an entry for each matching model of which this computer has as many GPUs as q wants.
func (p *gpuPool) offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	uses, err := p.uses(ctx)
	if err != nil {
		return nil, err
	}
	var out []sdk.Offer
	for _, u := range uses {
		if !gpu.Match(q.GPU, u.Name) || slices.ContainsFunc(out, func(o sdk.Offer) bool { return o.GPU == u.Name }) {
			continue
		}
		all, free := gpulease.Available(uses, gpulease.Wish{GPU: u.Name})
		o := sdk.Offer{ID: Name + "-" + u.Name, GPU: u.Name, GPUCount: q.GPUCount, GPUMemoryGB: float64(u.Memory) / (1 << 30), Region: runtime.GOOS + "/" + runtime.GOARCH}
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

// GPUs is implemented by the provider of this computer's machines.
type GPUs interface {
	// GPUUses returns the present users of each GPU, and the indexes of the GPUs that a machine of
	// the spec would get; nil = it has to wait, or wants none.
	GPUUses(ctx context.Context, spec sdk.MachineSpec) (uses []gpulease.Use, picked []int, err error)
	// GPUMemory returns the memory in bytes that a machine uses on all its GPUs, and the highest
	// value so far. ok is false before the first measurement.
	GPUMemory(handle string) (now, peak int64, ok bool)
	// Queue takes the last place in the queue for the GPUs of a spec. wait returns when
	// [sdk.Provider].Create of a spec with the same GPUs may get them. Until then it reports the
	// place and the users of the GPUs with tell. leave gives up the place. wait and leave are nil
	// for a spec without a GPU.
	Queue(ctx context.Context, spec sdk.MachineSpec) (wait func(ctx context.Context, tell func(string)) error, leave func(), err error)
}

func (p *gpuPool) GPUUses(ctx context.Context, spec sdk.MachineSpec) (uses []gpulease.Use, picked []int, err error) {
	if uses, err = p.uses(ctx); err == nil && spec.GPU != "" {
		picked = gpulease.Pick(uses, wishOf(&spec))
	}
	return uses, picked, err
}

func (p *provider) GPUMemory(handle string) (now, peak int64, ok bool) {
	if !validHandle(handle) {
		return 0, 0, false
	}
	var u watchdog.GPUUsage
	data, err := os.ReadFile(p.folder(handle).path(watchdog.GPUUsageName))
	if err != nil || json.Unmarshal(data, &u) != nil {
		return 0, 0, false
	}
	return u.Bytes, u.Peak, true
}

func (p *gpuPool) uses(ctx context.Context) ([]gpulease.Use, error) {
	set, err := p.usable(ctx)
	if err != nil || len(set.Found) == 0 {
		return nil, err
	}
	leases, err := p.Leases()
	if err != nil {
		return nil, err
	}
	uses, err := leases.Look(ctx, leased(set))
	return uses, unknownUse(err)
}

func (p *gpuPool) Queue(ctx context.Context, spec sdk.MachineSpec) (wait func(context.Context, func(string)) error, leave func(), err error) {
	if spec.GPU == "" {
		return nil, nil, nil
	}
	set, err := p.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	leases, err := p.Leases()
	if err != nil {
		return nil, nil, err
	}
	ticket, err := leases.Queue(ctx, wishOf(&spec), ownerOf(&spec, spec.EndUnix))
	if err != nil {
		return nil, nil, err
	}
	p.tickets.add(ticket)
	wait = func(ctx context.Context, tell func(string)) error {
		for told := ""; ; {
			err := ticket.Turn(ctx, leased(set))
			busy := (*gpulease.BusyError)(nil)
			if !errors.As(err, &busy) {
				return err
			}
			if text := fmt.Sprintf("waiting, place %d in the queue: %v", busy.Ahead+1, err); text != told {
				tell(text)
				told = text
			}
			if err := ticket.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return wait, func() { p.tickets.remove(ticket); ticket.Leave() }, nil
}

// tickets are this program's places in the queue. Places for equal wishes are interchangeable: the
// next start with such a wish uses the first of them.
type tickets struct {
	mu  sync.Mutex
	all []*gpulease.Ticket
}

func (t *tickets) add(one *gpulease.Ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, one)
}

func (t *tickets) remove(one *gpulease.Ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(other *gpulease.Ticket) bool { return other == one })
}

func (t *tickets) first(w gpulease.Wish) *gpulease.Ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.all {
		if have := one.Wish(); have.GPU == w.GPU && have.Count == w.Count && have.Share == w.Share {
			return one
		}
	}
	return nil
}

func wishOf(spec *sdk.MachineSpec) gpulease.Wish {
	w := gpulease.Wish{GPU: spec.GPU, Count: spec.GPUCount}
	if s := spec.GPUShare; s != nil {
		w.Share = gpulease.Share{Parts: s.Parts, Bytes: int64(s.GB * (1 << 30))}
	}
	return w
}

func ownerOf(spec *sdk.MachineSpec, end int64) gpulease.Owner {
	who := gpulease.Owner{Sandbox: spec.Name}
	if end > 0 {
		who.Until = time.Unix(end, 0).UTC()
	}
	return who
}

// take claims the machine's GPUs and puts them into its note. Until the machine ends, only its
// copies can claim them too, or other machines if it has a share.
func (p *gpuPool) take(ctx context.Context, n *note, wish gpulease.Wish, again *restored) (set isolation.GPUSet, taken []isolation.GPU, err error) {
	if set, err = p.usable(ctx); err != nil {
		return set, nil, err
	}
	if again.onGPU() {
		if why := again.Host.GPU.refuses(set); why != "" {
			return set, nil, sdk.Errorf(sdk.Unsupported, "the saved processes cannot go on here: %s", why)
		}
	}
	leases, err := p.Leases()
	if err != nil {
		return set, nil, err
	}
	for range passingPatience / freeEvery {
		n.claims, err = leases.Take(ctx, leased(set), wish, ownerOf(n.Spec, n.EndUnix), p.tickets.first(wish))
		busy := (*gpulease.BusyError)(nil)
		if !errors.As(err, &busy) || !busy.Passing() || leases.Sleep(ctx, freeEvery) != nil {
			break
		}
	}
	if err != nil {
		return set, nil, refusedGPUs(set, err)
	}
	if err := p.permittedGPUs(ctx, leases, set, n.claims); err != nil {
		gpulease.End(n.claims)
		n.claims = nil
		return set, nil, err
	}
	for _, c := range n.claims {
		at := slices.IndexFunc(set.Found, func(g isolation.GPU) bool { return g.UUID == c.UUID })
		taken, n.GPUs, n.Claims = append(taken, set.Found[at]), append(n.GPUs, c.UUID), append(n.Claims, c.Kept)
	}
	return set, taken, nil
}

// permittedGPUs refuses claims with which the user has more GPUs than the administrator of this
// computer allows. They are counted after they were made, so that of two starts at once both count.
func (p *gpuPool) permittedGPUs(ctx context.Context, leases *gpulease.Folder, set isolation.GPUSet, claims []*gpulease.Claim) error {
	rules, err := p.Policy()
	if err != nil || rules.GPUsPerUser == nil {
		return err
	}
	uses, err := leases.Look(ctx, leased(set))
	if err != nil {
		return unknownUse(err)
	}
	var have, more int
	for _, u := range uses {
		mine := slices.ContainsFunc(u.Claims, func(c gpulease.Claimed) bool { return c.UID == os.Getuid() })
		switch claimed := slices.ContainsFunc(claims, func(c *gpulease.Claim) bool { return c.UUID == u.UUID }); {
		case claimed:
			more++
		case mine:
			have++
		}
	}
	return rules.GPUs(have, more)
}

// unknownUse marks an error as final: the users of the GPUs are unknown, and a retry does not help.
func unknownUse(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return sdk.Errorf(sdk.Unsupported, "the GPUs of this computer cannot be used: %v", err)
}

func refusedGPUs(set isolation.GPUSet, err error) error {
	busy := (*gpulease.BusyError)(nil)
	switch {
	case !errors.As(err, &busy):
		return unknownUse(err)
	case !busy.Enough():
		return sdk.Errorf(sdk.Unsupported, "this computer has %d × %s and not %d (it has: %s); ask for what there is, or choose another provider",
			len(busy.Uses), busy.Want.GPU, max(1, busy.Want.Count), strings.Join(gpuNames(set), ", "))
	}
	if len(busy.Want.Exact) > 0 {
		err = fmt.Errorf("the saved processes go back only to the GPU that they were on: %w", err)
	}
	what := []remedy.Remedy{{Action: remedy.WaitForGPU}}
	if busy.Mine {
		what = append(what, remedy.Remedy{Action: remedy.ListSandboxes}, remedy.Remedy{Action: remedy.EndSandbox})
	}
	return remedy.For(sdk.Errorf(sdk.NoCapacity, "%v; wait for it, or end what uses it", err), what...)
}

// handOverPatience limits the wait until the watchdog holds the GPUs of a machine.
const handOverPatience = 30 * time.Second

// handOver passes the claims of a started machine to the watchdog, which holds them until the
// machine ends.
func (p *gpuPool) handOver(ctx context.Context, n *note) error {
	if len(n.claims) == 0 {
		return nil
	}
	leases, err := p.Leases()
	if err != nil {
		return err
	}
	for _, c := range n.claims {
		var gone bool
		if !until(ctx, handOverPatience, func() bool { gone, err = leases.LetGo(ctx, c); return gone || err != nil }) || err != nil {
			return errors.Join(ctx.Err(), err, sdk.Errorf(sdk.Internal, "the watchdog of this computer's sandboxes does not hold the GPU; if it is of an older version, end all sandboxes, so that a new one starts"))
		}
	}
	return nil
}

// The driver frees the memory of a GPU some time after its processes have ended. Each look runs
// nvidia-smi, which adds to these times.
const (
	freeEvery    = 250 * time.Millisecond
	freePatience = 30 * time.Second

	passingPatience = 5 * time.Second // of a start, if no process and no claim has the memory
)

// holdUntilFree holds the GPUs of a machine that is about to be ended: without the claims, another
// sandbox may start on them too early. Those of a machine that has ended by itself may be another
// sandbox's by now.
func (p *gpuPool) holdUntilFree(n *note) (held []*gpulease.Claim) {
	for _, k := range n.Claims {
		if c, err := gpulease.HoldExisting(k); err == nil {
			held = append(held, c)
		}
	}
	return held
}

// awaitFree waits until the memory of a machine that has ended is off its GPUs, and then frees
// them. After freePatience it gives up with a warning. before are the processes that the machine
// had.
func (p *gpuPool) awaitFree(ctx context.Context, n *note, before []process, held []*gpulease.Claim) {
	defer gpulease.End(held)
	if len(n.Claims) == 0 || len(before) == 0 && len(held) == 0 {
		return
	}
	leases, err := p.Leases()
	if err != nil {
		p.Logger.Warn("cannot tell whether the memory of the GPU is free", "error", err)
		return
	}
	why := ""
	for range freePatience / freeEvery {
		if why, err = leases.Occupied(ctx, n.Claims, func(pid int) bool {
			return slices.ContainsFunc(before, func(b process) bool { return b.PID == pid })
		}); err != nil || why == "" {
			break
		}
		if leases.Sleep(ctx, freeEvery) != nil {
			break
		}
	}
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		p.Logger.Warn("the machine has ended, and the memory of its GPU may not be free yet", "why", why)
	}
}

// shareGPUs sets the variables with which torch in workers and JAX limit themselves to their share
// of each GPU. Other programs may ignore them.
func shareGPUs(spec *isolation.Spec, taken []isolation.GPU, claims []gpulease.Kept) {
	fraction := 1.0
	for i, c := range claims {
		if c.Bytes > 0 && taken[i].Memory > 0 {
			fraction = min(fraction, float64(c.Bytes)/float64(taken[i].Memory))
		}
	}
	if fraction >= 1 {
		return
	}
	for _, name := range []string{FractionVariable, "XLA_PYTHON_CLIENT_MEM_FRACTION"} { // the worker's for torch, JAX's own
		spec.Env[name] = strconv.FormatFloat(fraction, 'f', 4, 64)
	}
}

// FractionVariable names the variable with the part of the memory of each GPU that a machine may
// use, such as 0.2500. Only machines that share GPUs have it.
const FractionVariable = "SEER_GPU_FRACTION"

// showGPUs adds the GPUs to the machine's isolation spec. Without isolation, the machine sees all
// GPUs of the computer, and only the variables name its own.
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
