package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// retrier repeats the calls of a provider that failed in passing. It is the only
// place where Seer repeats anything.
type retrier struct {
	next   sdk.Provider
	clock  Clock
	limit  time.Duration // how long one call may be repeated
	notify func(op string, wait time.Duration, err error)
}

// awayPatience is how long a host that does not answer is asked again where a machine is to be
// ended: somebody waits for the answer, and the machine ends by itself.
const awayPatience = 3 * time.Second

// briefly is a provider that gives up soon where its machines are on hosts of the user's. A host
// is away for hours; a cloud is busy for seconds.
func briefly(ctx context.Context, p sdk.Provider) sdk.Provider {
	r, ok := p.(*retrier)
	if !ok {
		return p
	}
	info, err := r.next.Describe(ctx)
	if err != nil || !slices.Contains(info.Features, sdk.FeatureRoutes) {
		return p
	}
	brief := *r
	brief.limit = min(r.limit, awayPatience)
	return &brief
}

const (
	firstWait = 250 * time.Millisecond
	maxWait   = 30 * time.Second
)

var _ sdk.Provider = (*retrier)(nil)

func (r *retrier) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	return repeat(ctx, r, "describe", func() (sdk.ProviderInfo, error) { return r.next.Describe(ctx) })
}

func (r *retrier) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	return repeat(ctx, r, "offers", func() ([]sdk.Offer, error) { return r.next.Offers(ctx, q) })
}

func (r *retrier) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	return repeat(ctx, r, "create", func() (sdk.CreateStep, error) {
		patient, cancel := outlast(ctx, stepTime)
		defer cancel()
		return r.next.Create(patient, spec, cursor)
	})
}

// stepTime is what a step of a creation has to come to its end when its start has been
// cancelled: a request that is given up half-way may rent a machine that nothing shows
// until later. Most creations are answered within it.
const stepTime = 25 * time.Second

// outlast is ctx, but ends only some time after it.
func outlast(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-longer.Done():
		case <-time.After(d):
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}

func (r *retrier) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	return repeat(ctx, r, "observe", func() ([]sdk.Observation, error) { return r.next.Observe(ctx, handles) })
}

func (r *retrier) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	return repeat(ctx, r, "list", func() ([]sdk.Listed, error) { return r.next.List(ctx, owner) })
}

// Route implements [sdk.Router].
func (r *retrier) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	router, ok := r.next.(sdk.Router)
	if !ok {
		return sdk.Route{}, sdk.Errorf(sdk.Internal, "it has no routes")
	}
	return repeat(ctx, r, "route", func() (sdk.Route, error) { return router.Route(ctx, handle, port) })
}

func (r *retrier) Terminate(ctx context.Context, handle string) error {
	_, err := repeat(ctx, r, "terminate", func() (struct{}, error) { return struct{}{}, r.next.Terminate(ctx, handle) })
	return err
}

func repeat[T any](ctx context.Context, r *retrier, op string, call func() (T, error)) (T, error) {
	began := r.clock.Now()
	for attempt := 0; ; attempt++ {
		result, err := call()
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		wait, ok := retryAfter(err, attempt)
		if !ok {
			return result, err
		}
		if spent := r.clock.Now().Sub(began); spent+wait > r.limit {
			return result, fmt.Errorf("%w (tried %d times in %s)", err, attempt+1, spent.Round(time.Second))
		}
		r.notify(op, wait, err)
		if r.clock.Sleep(ctx, wait) != nil {
			return result, err
		}
	}
}

// retryAfter says how long to wait after a passing fault: what the backend
// asked for, or ever longer.
func retryAfter(err error, attempt int) (time.Duration, bool) {
	code := sdk.CodeOf(err)
	if code != sdk.RateLimited && code != sdk.Unavailable {
		return 0, false
	}
	wait := firstWait << min(attempt, 10)
	wait = min(wait, maxWait)
	wait = wait/2 + rand.N(wait/2) // so that many do not come back at once
	return max(wait, askedWait(err)), true
}
