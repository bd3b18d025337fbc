package sdktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// lifetime is how long a machine of the kit lives when nobody ends it.
const lifetime = 15 * time.Minute

// spec describes a machine of the kit's as the engine does: with the cheapest offer. Where
// there is none, the check fails when it has ended.
func (l *lab) spec(ctx context.Context, owner string) sdk.MachineSpec {
	offers, err := l.free(ctx)
	if err != nil {
		l.unoffered = err
		return l.machine(owner, sdk.Offer{})
	}
	return l.machine(owner, offers[0])
}

// free lists what can be rented now, cheapest first, whatever the order of Offers.
func (l *lab) free(ctx context.Context) ([]sdk.Offer, error) {
	var offers []sdk.Offer
	var err error
	for range 8 {
		if offers, err = l.open().Offers(ctx, l.kit.Query); err == nil || !passing(err) {
			break
		}
		if l.pause(ctx, max(retryAfter(err), 50*time.Millisecond)) != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.New("Offers of " + jsonOf(l.kit.Query) + ": " + describe(err))
	}
	offers = slices.DeleteFunc(slices.Clone(offers), func(o sdk.Offer) bool { return o.Stock == sdk.StockNone })
	if len(offers) == 0 {
		return nil, fmt.Errorf("nothing is offered for %s; up to three machines are rented at a time, and where each has a GPU, the kit's Query (gpu: in conformance.yaml) is for *", jsonOf(l.kit.Query))
	}
	slices.SortStableFunc(offers, func(a, b sdk.Offer) int { return cmp.Compare(a.CostPerHour, b.CostPerHour) })
	return offers, nil
}

// machine describes one of an offer, or, without an ID, what fits.
func (l *lab) machine(owner string, o sdk.Offer) sdk.MachineSpec {
	end := time.Now().Add(lifetime).Unix()
	key := "seer-" + random(20)
	l.mu.Lock()
	l.keys[key] = true
	l.mu.Unlock()
	s := sdk.MachineSpec{
		Key: key, Owner: owner, Name: "seer conformance",
		Command: []string{"python3", "-I", "-S", "-c", command},
		Env:     map[string]string{"SEER_TEST_NOTE": `a b"c'd$e\f é`, envKey: key},
		Port:    8470, Offer: o.ID, GPU: o.GPU, GPUCount: o.GPUCount, CPU: l.kit.Query.CPU, MemoryGB: l.kit.Query.MemoryGB,
		DiskGB: l.kit.Query.DiskGB, Regions: l.kit.Query.Regions, Options: l.kit.Query.Options,
		Isolation: "auto", Network: "open", TimeoutSeconds: int64(lifetime.Seconds()), EndUnix: end,
	}
	if l.kit.Spec != nil {
		l.kit.Spec(&s)
	}
	return s
}

// rent makes the machine that a check needs, of an owner of its own, and reports whether it has
// one.
func rent(ctx context.Context, l *lab, t *trial, check string) (spec sdk.MachineSpec, handle string, ok bool) {
	spec = l.spec(ctx, l.ownerFor(t))
	handle, err := l.create(ctx, spec)
	return spec, handle, t.try(check, err)
}

// rentMany makes n machines of one owner, whose name it gives even where that fails.
func rentMany(ctx context.Context, l *lab, t *trial, n int) (owner string, made []string) {
	owner = l.ownerFor(t)
	for range n {
		handle, err := l.create(ctx, l.spec(ctx, owner))
		if !t.try("several machines", err) {
			return owner, nil
		}
		if slices.Contains(made, handle) {
			t.failf("two keys have one machine, %s; look for the key, not only for the owner", handle)
			return owner, nil
		}
		made = append(made, handle)
	}
	return owner, made
}

// createWithoutOffer rents what fits, as embedders do who ask for no offers.
func (l *lab) createWithoutOffer(ctx context.Context, t *trial) {
	owner := l.ownerFor(t)
	want := sdk.Offer{GPU: l.kit.Query.GPU, GPUCount: l.kit.Query.GPUCount}
	if want.GPU == gpu.Any { // in a spec, it has a name
		cheapest := l.spec(ctx, owner)
		want.GPU, want.GPUCount = cheapest.GPU, cheapest.GPUCount
	}
	spec := l.machine(owner, want)
	handle, err := l.create(ctx, spec)
	if err != nil {
		t.failf("without Offer: %v; take the cheapest that fits", err)
		return
	}
	l.one(ctx, t, spec, handle)
}

// createAsked rents the dearest offer, which who does not look at Offer would not take.
func (l *lab) createAsked(ctx context.Context, t *trial) {
	offers, err := l.free(ctx)
	if err != nil {
		l.unoffered = err
		return
	}
	offer := offers[len(offers)-1]
	handle, err := l.create(ctx, l.machine(l.ownerFor(t), offer))
	if err != nil {
		t.failf("the offer %q, which Offers gave: %v", offer.ID, err)
		return
	}
	took := l.took(handle)
	if took != "" && took != offer.ID {
		t.failf("rented was the offer %q; asked for was %q, of which Offers said %v USD an hour", took, offer.ID, offer.CostPerHour)
	}
	var o sdk.Observation
	err = l.until(ctx, func() (bool, error) {
		o, err = l.observe(ctx, handle)
		return err == nil && (o.CostPerHour > 0 || o.State == sdk.Running || !o.State.Live()), err
	})
	if !t.try("Observe", err) {
		return
	}
	for _, other := range offers {
		if o.CostPerHour > 0 && alike(o.CostPerHour, other.CostPerHour) && !alike(o.CostPerHour, offer.CostPerHour) {
			t.failf("the machine costs %v USD an hour, as %q does; asked for was %q for %v", o.CostPerHour, other.ID, offer.ID, offer.CostPerHour)
			break
		}
	}
	if len(offers) == 1 || took == "" && o.CostPerHour == 0 {
		t.notef("whether it was %q that was rented cannot be seen: there is one offer only, or Observe gives no cost_per_hour", offer.ID)
	}
}

// took is the offer of a machine, where the simulator says it.
func (l *lab) took(handle string) string {
	if l.kit.Machines == nil {
		return ""
	}
	for _, m := range l.kit.Machines() {
		if m.Handle == handle {
			return m.Offer
		}
	}
	return ""
}

// alike reports whether two prices are the same, but for rounding.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(a, b) }
