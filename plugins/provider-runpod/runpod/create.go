package runpod

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// The steps of a creation. RunPod knows no request that can be repeated safely, so
// that every step begins by looking for pods of the machine's name.
const (
	stepPlace  = "place"  // everything is known but the pod
	stepVolume = "volume" // the answer about a new volume was lost
	stepCheck  = "check"  // the answer about a new pod was lost: it may appear late
	stepSettle = "settle" // a pod was made; an older one may appear as late as that one does
)

// The waits between two looks, in seconds. A pod has appeared 30 s after RunPod said that
// it was not made: a minute passes before it is asked for again. A pod that RunPod has
// named is in the list within 20 s.
var (
	checkWaits  = []float64{1, 2, 4, 6, 7, 10, 10, 10, 10}
	settleWaits = []float64{0, 1, 2, 4, 6, 7}
)

const maxAttempts = 3 // to make one thing, when the answers are lost

// cursor is what one call leaves for the next.
type cursor struct {
	Step     string         `json:"step,omitempty"`
	Offer    string         `json:"offer,omitempty"` // taken because the spec names none
	Volume   *mountedVolume `json:"volume,omitempty"`
	Pod      string         `json:"pod,omitempty"`      // the one that was made
	Tries    int            `json:"tries,omitempty"`    // looks in this step
	Attempts int            `json:"attempts,omitempty"` // requests whose answers were lost
	Lost     string         `json:"lost,omitempty"`     // how the last of them failed
}

func parseCursor(raw json.RawMessage) (cursor, error) {
	var c cursor
	if len(raw) == 0 {
		return c, nil
	}
	err := json.Unmarshal(raw, &c)
	if err != nil || c.Tries < 0 || c.Step == stepSettle && !idForm.MatchString(c.Pod) {
		return c, sdk.Errorf(sdk.Internal, "the cursor of a creation cannot be read")
	}
	return c, nil
}

// creation is one call of [Provider.Create].
type creation struct {
	client  *client
	machine machine
	what    choice
	cur     cursor
	log     []string
}

// Create implements [sdk.Provider].
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, raw json.RawMessage) (sdk.CreateStep, error) {
	client, err := p.open()
	if err != nil {
		return sdk.CreateStep{}, err
	}
	c := &creation{client: client}
	if c.cur, err = parseCursor(raw); err != nil {
		return sdk.CreateStep{}, err
	}
	if c.machine, err = newMachine(spec, client.settings); err != nil {
		return sdk.CreateStep{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return c.step(ctx)
}

func (c *creation) step(ctx context.Context) (sdk.CreateStep, error) {
	mine, err := c.find(ctx)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	switch {
	case c.cur.Step == stepSettle:
		return c.settle(ctx, mine)
	case len(mine) > 0:
		c.logf("the pod %s of an earlier attempt is there; taking it", mine[0].ID)
		return c.take(ctx, mine)
	case c.cur.Step == stepCheck && c.mayAppear():
		return c.again()
	}
	if err := c.choose(ctx); err != nil {
		return sdk.CreateStep{}, err
	}
	if len(c.machine.spec.Volumes) > 0 && c.cur.Volume == nil {
		return c.ensureVolume(ctx)
	}
	return c.place(ctx)
}

// find lists the pods of this machine, the one to keep first.
func (c *creation) find(ctx context.Context) ([]pod, error) {
	all, err := c.client.pods(ctx)
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(all, func(p pod) bool {
		id, ours := parseName(p.Name)
		return !ours || id.Key != c.machine.id.Key || id.Owner != c.machine.id.Owner || !idForm.MatchString(p.ID)
	})
	slices.SortFunc(mine, older)
	return mine, nil
}

// choose takes the offer of the spec, else the cheapest that is free.
func (c *creation) choose(ctx context.Context) (err error) {
	s := c.machine.spec
	if s.Offer != "" {
		if c.what, err = parseChoice(s.Offer); err != nil || len(s.Regions) == 0 || len(c.what.DataCenters) > 0 {
			return err
		}
	}
	if c.cur.Offer == "" {
		if c.cur.Offer, err = c.offer(ctx); err != nil {
			return err
		}
	}
	c.what, err = parseChoice(c.cur.Offer)
	return err
}

func (c *creation) offer(ctx context.Context) (string, error) {
	s := c.machine.spec
	offers, err := c.client.offers(ctx, sdk.OfferQuery{
		GPU: s.GPU, GPUCount: s.GPUCount, CPU: s.CPU, MemoryGB: s.MemoryGB, DiskGB: s.DiskGB, Regions: s.Regions, Options: s.Options,
	}, c.machine.options)
	if err != nil {
		return "", err
	}
	for _, o := range offers {
		found, err := parseChoice(o.ID)
		if err == nil && o.Stock != sdk.StockNone && (s.Offer == "" || found.ID == c.what.ID) {
			return o.ID, nil
		}
	}
	what := s.GPU
	if what == "" {
		what = "a machine without a GPU"
	}
	return "", sdk.Errorf(sdk.NoCapacity, "RunPod has no %s free that fits; `seer offers --provider %s` shows what there is", what, Name)
}

// place makes the pod.
func (c *creation) place(ctx context.Context) (sdk.CreateStep, error) {
	if err := c.spent(); err != nil {
		return sdk.CreateStep{}, err
	}
	var made pod
	err := c.client.do(ctx, call{
		doing: "renting " + c.what.ID, method: "POST", path: "/pods", body: c.machine.placed(c.what, c.cur.Volume), limit: createTime,
	}, &made)
	if err == nil && !idForm.MatchString(made.ID) {
		err = unsure(sdk.Errorf(sdk.Internal, "renting %s: RunPod's answer names no pod", c.what.ID))
	}
	if inDoubt(err) {
		return c.lost(stepCheck, "pod", err)
	}
	if err != nil {
		return sdk.CreateStep{}, err
	}
	c.cur.Pod = made.ID
	c.logf("rented the pod %s: %s", made.ID, made.describe(c.what))
	return c.next(stepSettle)
}

// settle waits until the pod that was made is in the list, for then an older one of
// its name is there as well.
func (c *creation) settle(ctx context.Context, mine []pod) (sdk.CreateStep, error) {
	seen := slices.ContainsFunc(mine, func(p pod) bool { return p.ID == c.cur.Pod })
	if !seen && c.mayAppear() {
		return c.again()
	}
	if !seen {
		mine = append(mine, pod{ID: c.cur.Pod, Status: provisioning, CreatedAt: "9999-12-31T00:00:00Z"})
		slices.SortFunc(mine, older)
	}
	return c.take(ctx, mine)
}

// take keeps the first of the pods and ends the others: one key, one machine.
func (c *creation) take(ctx context.Context, mine []pod) (sdk.CreateStep, error) {
	for _, twin := range mine[1:] {
		if err := c.client.terminate(ctx, twin.ID); err != nil {
			return sdk.CreateStep{}, err
		}
		c.logf("ended the pod %s, which was made twice", twin.ID)
	}
	return sdk.CreateStep{Handle: mine[0].ID, Log: c.log}, nil
}

// lost goes on after a request that may have had its effect. It is made again only
// when nothing has appeared for long enough.
func (c *creation) lost(step, what string, err error) (sdk.CreateStep, error) {
	c.cur.Attempts++
	c.cur.Lost = err.Error()
	c.logf("%v; looking whether the %s was made", err, what)
	return c.next(step)
}

// spent is an error when a request has been made often enough. It is none to call
// again for.
func (c *creation) spent() error {
	if c.cur.Attempts < maxAttempts {
		return nil
	}
	return sdk.Errorf(sdk.Internal, "%s; it was tried %d times and has not appeared; look at https://uptime.runpod.io", c.cur.Lost, c.cur.Attempts)
}

// mayAppear reports whether it is too early to take what was made for missing.
func (c *creation) mayAppear() bool { return c.cur.Tries+1 < len(c.waits()) }

// next goes on with another step.
func (c *creation) next(step string) (sdk.CreateStep, error) {
	c.cur.Step, c.cur.Tries = step, 0
	return c.later(c.waits()[0])
}

// again looks once more, later.
func (c *creation) again() (sdk.CreateStep, error) {
	c.cur.Tries++
	return c.later(c.waits()[c.cur.Tries])
}

func (c *creation) waits() []float64 {
	switch c.cur.Step {
	case stepPlace:
		return []float64{0}
	case stepSettle:
		return settleWaits
	}
	return checkWaits
}

func (c *creation) later(seconds float64) (sdk.CreateStep, error) {
	next, err := json.Marshal(c.cur)
	return sdk.CreateStep{Cursor: next, Log: c.log, AfterSeconds: seconds}, err
}

func (c *creation) logf(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}
