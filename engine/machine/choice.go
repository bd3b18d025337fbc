package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Choice is one way to get a machine.
type Choice struct {
	Provider      string
	Spec          sdk.MachineSpec // Key, Owner and EndUnix are set when its turn has come
	Isolation     string          // as asked
	GPU           string          // canonical name
	Region        string          // of the offer
	CostPerHour   float64         // USD, as offered; 0 = not known, or nothing
	Poll          time.Duration   // shortest useful time between two looks; see [sdk.ProviderInfo].PollSeconds
	LongestPoll   time.Duration   // longest time between two looks, where a look costs nothing; 0 = 3 s
	Label         string          // for people; empty = made from the rest
	OptionalPorts []int           // those of Spec.Ports without which the machine does as well, where the provider has none

	MaxWait  time.Duration // how long to wait while no choice has capacity, the longest of all; 0 = not at all
	Patience time.Duration // for the queue of its provider, while another provider is left to try; 0 = [Options].ChoiceTimeout
	Wait     time.Duration // what its provider expects now; 0 = none, or not known
	Queue    string        // what is known of the queue, in words
	Queues   bool          // its time begins when its wait for capacity ends; see [sdk.FeatureQueue]

	// Prepare, where it is not nil, completes the spec once its Key, Owner and EndUnix
	// are known.
	Prepare func(*sdk.MachineSpec) error
}

// label names the choice in messages.
func (c *Choice) label() string {
	if c.Label != "" {
		return c.Label
	}
	text := c.Provider
	if c.GPU != "" {
		text += fmt.Sprintf(" %d × %s", max(c.Spec.GPUCount, 1), c.GPU)
	}
	if c.Region != "" {
		text += " in " + c.Region
	}
	return text
}

// spec is what is rented for a record.
func (c *Choice) spec(r *Record) (sdk.MachineSpec, error) {
	spec := c.Spec
	spec.Key, spec.Owner = r.Key, r.Owner
	if !r.HardEnd.IsZero() {
		spec.EndUnix = r.HardEnd.Unix()
	}
	if c.Prepare != nil {
		if err := c.Prepare(&spec); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// choose makes the record that of a machine which is about to be rented.
func (r *Record) choose(c *Choice, now time.Time) {
	r.Provider, r.Isolation, r.GPU, r.GPUCount = c.Provider, c.Isolation, c.GPU, c.Spec.GPUCount
	r.GPUShare = ""
	if c.Spec.GPUShare != nil {
		r.GPUShare = c.Spec.GPUShare.String()
	}
	r.Offer, r.Region, r.CostPerHour, r.Port = c.Spec.Offer, c.Region, c.CostPerHour, c.Spec.Port
	r.State, r.Message, r.Handle, r.Endpoints, r.Routes = sdk.Pending, "", "", nil, nil
	r.AskedAt, r.RentedAt, r.HardEnd = now, time.Time{}, time.Time{}
	if !c.Queues {
		r.beginTime(c, now)
	}
}

// beginTime begins the time of the machine.
func (r *Record) beginTime(c *Choice, now time.Time) {
	if c.Spec.TimeoutSeconds > 0 {
		r.HardEnd = now.Add(time.Duration(c.Spec.TimeoutSeconds) * time.Second)
	}
}

// tolerance is how far a price may be above the offer.
const tolerance = 1.05

// tooDear says that a machine costs more than was offered, where that matters.
func (r *Record) tooDear(c *Choice, o sdk.Observation) error {
	if r.MaxPrice == 0 && r.Budget == 0 || o.CostPerHour <= c.CostPerHour*tolerance {
		return nil
	}
	return sdk.Errorf(sdk.NoCapacity, "it costs $%.2f an hour, not $%.2f as offered", o.CostPerHour, c.CostPerHour)
}

// ready begins the life of a machine that can be reached. Until now its start has
// kept it, however long that took.
func (r *Record) ready(now time.Time) {
	r.ReadyAt, r.Lease = now, r.Lease.Extend(now)
	r.keepBudget()
}

// keepBudget brings the hard end forward to when the budget is spent at the price
// that the machine really has.
func (r *Record) keepBudget() {
	if r.Budget == 0 || r.CostPerHour == 0 {
		return
	}
	spent := r.RentedAt.Add(time.Duration(min(r.Budget/r.CostPerHour, 1e5) * float64(time.Hour)))
	if r.HardEnd.IsZero() || spent.Before(r.HardEnd) {
		r.HardEnd = spent
	}
}

// ChoicesError says that no choice gave a machine. Its code is [sdk.NoCapacity].
type ChoicesError struct {
	Attempts []Attempt // in order
	errs     []error
}

func (e *ChoicesError) Error() string {
	reasons := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		reasons[i] = a.Label + ": " + a.Why
	}
	return "no machine could be had: " + strings.Join(reasons, "; ")
}

// Unwrap returns the reason of each choice.
func (e *ChoicesError) Unwrap() []error { return e.errs }
