package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// QueueError says that a choice was given up as its machine would have waited too long. Its code
// is [sdk.NoCapacity].
type QueueError struct {
	Limit    time.Duration // of the wait
	Expected time.Duration // that the provider named, so that nothing was asked for; 0 = the machine has waited
	Message  string        // what the provider says of the wait
}

func (e *QueueError) Error() string {
	if e.Expected > 0 {
		return fmt.Sprintf("a machine would wait for about %s, longer than %s%s", e.Expected.Round(time.Second), e.Limit, because(e.Message))
	}
	return fmt.Sprintf("nothing was free within %s%s", e.Limit, because(e.Message))
}

// Unwrap makes [sdk.CodeOf] see the code.
func (e *QueueError) Unwrap() error {
	return &sdk.Error{Code: sdk.NoCapacity, Message: "nothing is free"}
}

// visit is the time of a start at one provider. The choices of a provider that follow each other
// share it.
type visit struct {
	provider string
	waited   time.Duration
}

// queue measures how long a machine waits for capacity. The making of its image and its boot do
// not count.
type queue struct {
	limit  time.Duration
	since  time.Time // of the wait that goes on; zero = it does not wait
	waited time.Duration
}

// enter begins the wait for the machine of a choice.
func (s *start) enter() *queue {
	if s.visit.provider != s.at.Provider {
		s.visit = visit{provider: s.at.Provider}
	}
	return &queue{limit: s.limit()}
}

// limit is how long the choice may wait. A further choice of the same provider needs some of the
// time of the visit.
func (s *start) limit() time.Duration {
	patience := s.at.Patience
	switch {
	case s.last && s.at.MaxWait > 0:
		patience = s.at.MaxWait
	case s.last:
		return s.d.QueueTimeout
	case patience == 0:
		return s.d.ChoiceTimeout
	}
	left := max(patience-s.visit.waited, 0)
	if !s.last && s.choices[s.index+1].Provider == s.at.Provider {
		left = min(left, s.d.ChoiceTimeout)
	}
	return left
}

// tooLong refuses a choice whose provider expects a longer wait than the next provider is left
// for. The last provider is tried all the same: a machine is often free sooner than expected.
func (s *start) tooLong(ctx context.Context) error {
	patience := s.at.Patience
	other := func(c Choice) bool { return c.Provider != s.at.Provider }
	if patience == 0 || !slices.ContainsFunc(s.choices[s.index:], other) {
		return nil
	}
	wait, queue := s.expected(ctx)
	if wait <= patience {
		return nil
	}
	return &QueueError{Limit: patience, Expected: wait, Message: queue}
}

// expected is the wait that the provider expects. What a plan says of it is old once all choices
// have been tried.
func (s *start) expected(ctx context.Context) (time.Duration, string) {
	if !s.again || s.at.Wait == 0 {
		return s.at.Wait, s.at.Queue
	}
	spec := s.at.Spec
	offers, err := s.d.Offers(ctx, s.at.Provider, sdk.OfferQuery{GPU: spec.GPU, GPUCount: spec.GPUCount, CPU: spec.CPU, MemoryGB: spec.MemoryGB,
		DiskGB: spec.DiskGB, Regions: spec.Regions, TimeoutSeconds: spec.TimeoutSeconds, Options: spec.Options})
	at := slices.IndexFunc(offers, func(o sdk.Offer) bool { return o.ID == spec.Offer })
	if err != nil || at < 0 {
		return 0, "" // its queue will tell
	}
	return seconds(offers[at].WaitSeconds), offers[at].Queue
}

// takeBack ends what was asked for, where anything was.
func (s *start) takeBack(ctx context.Context, why error) error {
	var long *QueueError
	if errors.As(why, &long) && long.Expected > 0 {
		return nil
	}
	return s.d.release(ctx, s.p, &s.rec, true)
}

// waitedIn counts the time in the queue, and gives the choice up when that is too long. A machine
// that cannot be seen is where it was.
func (s *start) waitedIn(q *queue, o sdk.Observation) error {
	if o.State == sdk.Unreachable {
		return nil
	}
	now := s.d.Clock.Now()
	if !q.since.IsZero() {
		passed := now.Sub(q.since)
		q.waited, s.visit.waited = q.waited+passed, s.visit.waited+passed
		s.deadline = s.deadline.Add(passed) // which is for all else
	}
	q.since = time.Time{}
	if o.State != sdk.Pending {
		return nil
	}
	q.since = now
	if q.waited < q.limit {
		return nil
	}
	return &QueueError{Limit: q.limit, Message: o.Message}
}

// leaveQueue begins the time of a machine whose wait has ended.
func (s *start) leaveQueue(ctx context.Context, o sdk.Observation) error {
	if !s.at.Queues || !s.rec.HardEnd.IsZero() || o.State == sdk.Pending || o.State == sdk.Unreachable {
		return nil
	}
	return s.record(ctx, func(r *Record) { r.beginTime(s.at, s.d.Clock.Now()) })
}
