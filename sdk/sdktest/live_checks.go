package sdktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// live is a run with a real account.
type live struct {
	l     *lab
	kit   Live
	offer sdk.Offer
	free  bool // machines cost nothing
	spec  sdk.MachineSpec

	handle string
	began  time.Time // of the rent; zero = nothing was rented
}

// liveLife is how long a machine lives that nobody ends, when the budget is large.
const liveLife = 20 * time.Minute

// LiveChecks rent one machine of a real account: the cheapest, for as short as possible.
// When it may have cost Live.MaxCost, or the program is interrupted, or a check panics, what the
// kit's owner has is ended; end/nothing-left must be run whatever happens, as [RunChecks] does. The
// kit's Open gets an http.Client with the kit's World behind it.
func LiveChecks(k ProviderKit) []Check {
	v := &live{l: newLab(k)}
	if k.Live != nil {
		v.kit = *k.Live
	}
	if v.kit.Owner == "" {
		v.kit.Owner = "seer-" + random(20)
	}
	v.l.adopt(v.kit.Owner)
	return []Check{
		{Name: "live/offers", run: v.offers, Doc: "Offers notices a bad credential, and gives something that the budget can pay."},
		{Name: "live/create", run: v.guarded(v.create), Doc: "Create goes on in steps until there is a handle; again with the same key, there is the same."},
		{Name: "live/running", run: v.guarded(v.running), Doc: "The machine becomes running, with an endpoint for its port."},
		{Name: "live/list", run: v.guarded(v.list), Doc: "List finds the machine with its key, owner and end."},
		{Name: "live/terminate", run: v.guarded(v.terminate), Doc: "Terminate ends the machine, and may be called again."},
		{Name: "end/nothing-left", run: v.nothing, always: true, Doc: "Nothing that the kit has rented costs money at its end."},
		{Name: "end/no-secret-shown", run: v.l.endSecrets, always: true, Doc: "A credential appears in no result, error or log."},
	}
}

func (v *live) offers(ctx context.Context, t *trial) {
	info, err := v.l.open().Describe(ctx)
	if !t.try("Describe", err) {
		return
	}
	v.free = slices.Contains(info.Features, sdk.FeatureFree)
	if v.kit.MaxCost <= 0 && !v.free {
		t.failf("Live.MaxCost is %v; say how many US dollars the run may cost", v.kit.MaxCost)
		return
	}
	offers, ok := v.l.offers(ctx, t, nil)
	if !ok {
		return
	}
	for _, o := range offers {
		if o.Stock != sdk.StockNone && (v.kit.Offer == "" || o.ID == v.kit.Offer) {
			v.offer = o
			break
		}
	}
	if v.offer.ID == "" {
		t.failf("of %d offers none is %q and free", len(offers), v.kit.Offer)
		return
	}
	if v.offer.CostPerHour <= 0 && !v.free {
		t.failf("%s has no price, so that the budget cannot be kept", v.offer.ID)
		v.offer.ID = ""
		return
	}
	t.notef("%s for %v USD an hour: at most %v", v.offer.ID, v.offer.CostPerHour, v.limit().Round(time.Second))
}

// limit is for how long the budget pays. A tenth is kept for the end.
func (v *live) limit() time.Duration {
	if v.offer.CostPerHour <= 0 {
		return liveLife
	}
	return min(seconds(0.9*3600*v.kit.MaxCost/v.offer.CostPerHour), liveLife)
}

// guarded runs a check within the budget, and ends everything when it is interrupted.
func (v *live) guarded(run func(context.Context, *trial)) func(context.Context, *trial) {
	return func(ctx context.Context, t *trial) {
		if v.offer.ID == "" {
			t.skipf("there is nothing to rent")
			return
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		if !v.began.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, v.began.Add(v.limit()))
			defer cancel()
		}
		over := false
		defer func() {
			if !over || ctx.Err() != nil {
				v.sweep(ctx, t)
			}
		}()
		run(ctx, t)
		over = true
		if ctx.Err() != nil {
			t.failf("the budget of %v USD is used up, or the run was interrupted: %v", v.kit.MaxCost, ctx.Err())
		}
	}
}

func (v *live) sweep(ctx context.Context, t *trial) {
	v.handle = ""
	ended, err := sweep(context.WithoutCancel(ctx), v.l.open(), v.kit.Owner, v.l.kit.Sleep)
	if err != nil {
		t.failf("LOOK AT THE ACCOUNT: %v", err)
	}
	if len(ended) > 0 {
		t.notef("ended %v", ended)
	}
}

func (v *live) create(ctx context.Context, t *trial) {
	v.spec = v.l.machine(v.kit.Owner, v.offer)
	v.spec.TimeoutSeconds = int64(v.limit().Seconds()) + 60
	v.spec.EndUnix = time.Now().Unix() + v.spec.TimeoutSeconds
	v.began = time.Now()
	ctx, cancel := context.WithTimeout(ctx, v.limit())
	defer cancel()
	handle, err := v.l.create(ctx, v.spec)
	if !t.try("live", err) {
		return
	}
	v.handle = handle
	again, err := v.l.create(ctx, v.spec)
	if t.try("the same key again", err) && again != handle {
		t.failf("one key has the handles %s and %s", handle, again)
	}
}

// rented skips a check where there is no machine.
func (v *live) rented(t *trial) bool {
	if v.handle == "" {
		t.skipf("nothing is rented, or it was ended already")
	}
	return v.handle != ""
}

func (v *live) running(ctx context.Context, t *trial) {
	if !v.rented(t) {
		return
	}
	var o sdk.Observation
	err := v.l.until(ctx, func() (bool, error) {
		var err error
		o, err = v.l.observe(ctx, v.handle)
		if err == nil && !o.State.Live() {
			return false, fmt.Errorf("the machine is %s: %s", o.State, o.Message)
		}
		return o.State == sdk.Running && len(o.Endpoints) > 0, err
	})
	if !t.try("becomes running", err) {
		return
	}
	t.notef("after %v", time.Since(v.began).Round(time.Second))
	for _, e := range o.Endpoints {
		if problem := badEndpoint(e); problem != "" {
			t.failf("the endpoint %+v %s", e, problem)
		}
	}
}

func (v *live) list(ctx context.Context, t *trial) {
	if !v.rented(t) {
		return
	}
	m, ok := v.l.one(ctx, t, v.spec, v.handle)
	if ok && (m.Key != v.spec.Key || m.Owner != v.spec.Owner || m.EndUnix != v.spec.EndUnix) {
		t.failf("List gives %+v for the key %s, owner %s, end %d", m, v.spec.Key, v.spec.Owner, v.spec.EndUnix)
	}
}

func (v *live) terminate(ctx context.Context, t *trial) {
	if !v.rented(t) {
		return
	}
	t.try("Terminate", v.l.open().Terminate(ctx, v.handle))
	t.try("Terminate again", v.l.open().Terminate(ctx, v.handle))
	v.l.gone(ctx, t, v.kit.Owner, v.handle)
	if hours := time.Since(v.began).Hours(); !v.began.IsZero() {
		t.notef("it may have cost %.4f USD", hours*v.offer.CostPerHour)
	}
}

func (v *live) nothing(ctx context.Context, t *trial) {
	if v.began.IsZero() {
		t.notef("nothing was rented")
		return
	}
	left, err := v.l.live(ctx, v.kit.Owner)
	if len(left) > 0 {
		t.failf("still rented: %s", handles(left))
	}
	t.try("List", err)
	v.sweep(ctx, t)
}

// Live says how to try a provider with a real account, which costs money: see [LiveChecks].
type Live struct {
	MaxCost float64 // USD; what is rented is ended when it may have cost as much
	Offer   string  // ID; empty = the cheapest of the kit's Query
	Owner   string  // who to rent for; default a new one. [Sweep] ends what it has
}

// sweepTime is how long tidying up goes on.
const sweepTime = 5 * time.Minute

// Sweep ends all machines of an owner and returns their handles. It tries again what
// fails in passing, until nothing that costs money is listed or ctx ends. When that is
// not reached, the error names what is left.
func Sweep(ctx context.Context, p sdk.Provider, owner string) (ended []string, err error) {
	return sweep(ctx, p, owner, sleep)
}

func sweep(ctx context.Context, p sdk.Provider, owner string, wait func(context.Context, time.Duration) error) (ended []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	asked := map[string]bool{}
	for pause := time.Duration(0); ; pause = min(2*pause+50*time.Millisecond, 5*time.Second) {
		if e := wait(ctx, max(pause, retryAfter(err))); e != nil {
			return ended, fmt.Errorf("machines of %s may still cost money: %w", owner, errors.Join(e, err))
		}
		var left []sdk.Listed
		left, err = p.List(ctx, owner)
		if err != nil {
			if !passing(err) {
				return ended, fmt.Errorf("what %s has rented cannot be listed, and may still cost money: %w", owner, err)
			}
			continue
		}
		live := 0
		for _, m := range left {
			if !m.State.Live() || m.Owner != owner {
				continue
			}
			live++
			if e := p.Terminate(ctx, m.Handle); e != nil {
				err = fmt.Errorf("ending %s: %w", m.Handle, e)
				if !passing(e) {
					return ended, fmt.Errorf("the machine %s of %s could not be ended and may still cost money: %w", m.Handle, owner, e)
				}
			} else if !asked[m.Handle] {
				asked[m.Handle] = true
				ended = append(ended, m.Handle)
			}
		}
		if live == 0 {
			return ended, nil
		}
	}
}

// passing reports whether the engine would call again.
func passing(err error) bool {
	code := sdk.CodeOf(err)
	return code == sdk.RateLimited || code == sdk.Unavailable
}

// retryAfter is how long an error asks to wait.
func retryAfter(err error) time.Duration {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e.After()
	}
	return 0
}
