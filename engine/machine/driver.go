package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Options are what a [Driver] works with.
type Options struct {
	Ledger *Ledger
	// Providers finds a provider by the name in a record.
	Providers func(ctx context.Context, name string) (sdk.Provider, error)
	// AskLease asks a running sandbox how long its lease really lasts; use extends it
	// there without the ledger knowing. Nil, or an error, leaves the ledger's word.
	AskLease func(ctx context.Context, r Record) (Lease, error)

	Clock  Clock        // nil is real time
	Logger hclog.Logger // nil is silent

	StartTimeout time.Duration // for a whole start; default 30 minutes
	RetryTimeout time.Duration // for the repetitions of one call; default 5 minutes
	EndTimeout   time.Duration // for ending a machine, in real time; default 1 minute
	KeepEnded    time.Duration // how long ended records are kept; default 24 hours
}

// Driver takes machines through their life with the short steps of a provider:
// waiting, retry, deadlines, cancellation and progress are here and nowhere else.
type Driver struct{ Options }

// NewDriver makes a driver.
func NewDriver(o Options) *Driver {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	for limit, standard := range map[*time.Duration]time.Duration{
		&o.StartTimeout: 30 * time.Minute, &o.RetryTimeout: 5 * time.Minute, &o.EndTimeout: time.Minute, &o.KeepEnded: 24 * time.Hour,
	} {
		if *limit <= 0 {
			*limit = standard
		}
	}
	return &Driver{o}
}

// Start rents a machine for a new record and waits until the runtime's port can
// be reached. The record is in the ledger before the provider hears of it. When
// Start fails or ctx ends, what was rented has been ended again, or the error is
// a [LeftoverError]; the record then tells why.
func (d *Driver) Start(ctx context.Context, r Record, spec sdk.MachineSpec, onEvent func(Event)) (Record, error) {
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	s := &start{d: d, spec: spec, onEvent: onEvent}
	if err := s.begin(ctx, r); err != nil {
		return r, err
	}
	defer s.lock.Remove()
	err := s.run(ctx)
	if err != nil {
		err = s.undo(ctx, err)
	}
	return s.rec, err
}

// start is one run of [Driver.Start].
type start struct {
	d        *Driver
	p        sdk.Provider
	spec     sdk.MachineSpec
	rec      Record
	lock     *state.Lock // held while this program works on the start
	deadline time.Time
	onEvent  func(Event)
}

func (s *start) begin(ctx context.Context, r Record) error {
	p, err := s.d.provider(ctx, r.Provider, func(text string) { s.tell(EventRetry, text) })
	if err != nil {
		return err
	}
	now := s.d.Clock.Now()
	s.p, s.deadline = p, now.Add(s.d.StartTimeout)
	r.State, r.Port = sdk.Pending, s.spec.Port
	if r.HardEnd.IsZero() && s.spec.TimeoutSeconds > 0 {
		r.HardEnd = now.Add(time.Duration(s.spec.TimeoutSeconds) * time.Second)
	}
	// The lock comes first: a record without its lock would look like a start whose
	// program has died.
	if s.lock, err = state.Acquire(ctx, s.d.Ledger.startFile(r.ID)); err != nil {
		return err
	}
	if err := s.d.Ledger.Add(ctx, &r); err != nil {
		s.lock.Remove()
		return err
	}
	s.rec, s.spec.Key, s.spec.Owner = r, r.Key, r.Owner
	return nil
}

func (s *start) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.d.StartTimeout) // for a provider that never answers
	defer cancel()
	if err := s.create(ctx); err != nil {
		return err
	}
	return s.await(ctx)
}

// create repeats the provider's step until there is a handle.
func (s *start) create(ctx context.Context) error {
	var cursor json.RawMessage
	for {
		if err := s.onTime(ctx); err != nil {
			return err
		}
		step, err := s.p.Create(ctx, s.spec, cursor)
		if err != nil {
			return err
		}
		for _, line := range step.Log {
			s.tell(EventLog, line)
		}
		if step.Handle != "" {
			return s.record(ctx, func(r *Record) { r.Handle, r.State = step.Handle, sdk.Starting })
		}
		if len(step.Cursor) == 0 {
			return sdk.Errorf(sdk.Internal, "the provider %s gave neither a handle nor a cursor", s.rec.Provider)
		}
		cursor = step.Cursor
		if err := s.d.Clock.Sleep(ctx, seconds(step.AfterSeconds)); err != nil {
			return err
		}
	}
}

const (
	firstPoll  = 3 * time.Millisecond
	maxPoll    = 3 * time.Second
	impatience = 100 * time.Millisecond // within which a machine of this computer is there; a cloud does not answer twice in it
)

// await observes the machine until its runtime can be reached.
func (s *start) await(ctx context.Context) error {
	began := s.d.Clock.Now()
	for poll := firstPoll; ; {
		if err := s.onTime(ctx); err != nil {
			return err
		}
		seen, err := observe(ctx, s.p, []string{s.rec.Handle})
		if err != nil {
			return err
		}
		o := seen[s.rec.Handle]
		if !o.State.Live() {
			return sdk.Errorf(sdk.Unavailable, "the machine ended before it could be reached%s", because(o.Message))
		}
		if o.State == sdk.Running && hasPort(o.Endpoints, s.spec.Port) {
			return s.record(ctx, func(r *Record) { r.observed(o); r.ReadyAt = s.d.Clock.Now() })
		}
		if reachable(o, s.spec.Port) != s.rec.State || o.Message != s.rec.Message {
			if err := s.record(ctx, func(r *Record) { r.observed(o); r.State = reachable(o, s.spec.Port) }); err != nil {
				return err
			}
		}
		if err := s.d.Clock.Sleep(ctx, poll); err != nil {
			return err
		}
		if s.d.Clock.Now().Sub(began) > impatience {
			poll = min(poll*3/2, maxPoll)
		}
	}
}

// onTime ends a start that was cancelled or takes too long.
func (s *start) onTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.d.Clock.Now().After(s.deadline) {
		return sdk.Errorf(sdk.Unavailable, "the machine was not ready within %s", s.d.StartTimeout)
	}
	return nil
}

// record changes the record and tells the user of a new state.
func (s *start) record(ctx context.Context, change func(*Record)) error {
	before := s.rec
	r, err := s.d.Ledger.Update(ctx, s.rec.ID, func(r *Record) error {
		if !r.Live() {
			return sdk.Errorf(sdk.Unavailable, "the sandbox was ended while it was started%s", because(r.Message))
		}
		change(r)
		return nil
	})
	if err != nil {
		change(&s.rec) // the handle must not be lost on the way to undo
		return err
	}
	s.rec = r
	if r.State != before.State || r.Message != before.Message {
		s.tell(EventState, r.Message)
	}
	return nil
}

// undo ends what a failed start has rented. The start's own context may be the
// reason of the failure, so it is not used.
func (s *start) undo(ctx context.Context, cause error) error {
	s.tell(EventCleanup, "the start failed; ending what was rented")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.d.EndTimeout)
	defer cancel()
	leftover := s.d.release(ctx, s.p, &s.rec)
	message := cause.Error()
	if errors.Is(cause, context.Canceled) {
		message = "the start was cancelled"
	}
	r, err := s.d.finish(ctx, s.rec, sdk.Failed, message, leftover)
	if r.ID != "" {
		s.rec = r
	}
	s.tell(EventState, message)
	return errors.Join(cause, err)
}

func (s *start) tell(kind EventKind, text string) {
	s.onEvent(Event{Kind: kind, ID: s.rec.ID, State: s.rec.State, Text: text})
}

// provider finds a provider and puts the wrappers around it.
func (d *Driver) provider(ctx context.Context, name string, tell func(string)) (sdk.Provider, error) {
	p, err := d.Providers(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("the provider %q: %w", name, err)
	}
	return &retrier{next: p, clock: d.Clock, limit: d.RetryTimeout, notify: func(op string, wait time.Duration, err error) {
		d.Logger.Warn("provider call failed in passing", "provider", name, "call", op, "wait", wait, "error", err)
		tell(fmt.Sprintf("%s: %v; trying again in %s", name, err, wait.Round(100*time.Millisecond)))
	}}, nil
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
