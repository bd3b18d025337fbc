package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/retry"
	"github.com/seer-engine/seer/sdk"
)

// Start rents a machine for a new record and waits until the runtime's port can
// be reached. The choices are tried in order: one that has no capacity, keeps the
// start in a queue for too long, or turns out dearer than offered where the record has a
// MaxPrice or Budget, is ended before the next begins. One whose queue is expected to be
// too long is not tried. The ledger knows of each
// before its provider does. While none has capacity, the start waits as long as
// [Choice].MaxWait allows, and tries all of them again.
//
// When Start fails or ctx ends, what was rented has been ended again, or the error
// is a [LeftoverError]; the record then tells why.
func (d *Driver) Start(ctx context.Context, r Record, choices []Choice, onEvent func(Event)) (Record, error) {
	if len(choices) == 0 {
		return r, sdk.Errorf(sdk.Invalid, "there is no machine to choose")
	}
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	s := &start{d: d, choices: choices, onEvent: onEvent}
	for _, c := range choices {
		s.maxWait = max(s.maxWait, c.MaxWait)
	}
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
	choices  []Choice
	rec      Record
	lock     *state.Lock // held while this program works on the start
	deadline time.Time
	onEvent  func(Event)
	known    map[string]sdk.Provider // those of the choices
	retried  bool                    // a call was repeated, so that its answer may have been lost
	maxWait  time.Duration           // for capacity, while no choice has any

	visit visit // of the provider that is tried now
	again bool  // all choices have been tried

	// Of the choice that is tried now.
	p     sdk.Provider
	index int
	at    *Choice
	last  bool
	spec  sdk.MachineSpec
}

func (s *start) begin(ctx context.Context, r Record) error {
	if err := s.findProviders(ctx); err != nil {
		return err
	}
	now := s.d.Clock.Now()
	s.deadline = now.Add(s.d.StartTimeout)
	r.choose(&s.choices[0], now)
	var err error
	if r.Account, err = s.d.account(ctx, r.Provider); err != nil {
		return err
	}
	// The lock comes first: a record without its lock would look like a start whose
	// program has died.
	if s.lock, err = state.Acquire(ctx, s.d.Ledger.startFile(r.ID)); err != nil {
		return err
	}
	if err := s.d.addNamed(ctx, &r); err != nil {
		s.lock.Remove()
		return err
	}
	s.rec = r
	return nil
}

// addNamed adds a record. If a sandbox that [Driver.GC] would end has the name, such as one whose
// start was killed, addNamed ends that sandbox first: the user need not clean up to start again.
func (d *Driver) addNamed(ctx context.Context, r *Record) error {
	err := d.Ledger.Add(ctx, r)
	var taken *ConflictError
	if !errors.As(err, &taken) {
		return err
	}
	g := &collector{d: d, away: map[string]bool{}}
	other, getErr := d.Ledger.Get(taken.ID)
	if getErr != nil {
		return err
	}
	if g.record(ctx, other); len(g.report.Ended) == 0 {
		return err // it is in use, or cannot be ended now
	}
	return d.Ledger.Add(ctx, r)
}

// findProviders finds those of all choices, so that a missing one is known before
// anything is rented.
func (s *start) findProviders(ctx context.Context) error {
	s.known = map[string]sdk.Provider{}
	for i := range s.choices {
		name := s.choices[i].Provider
		if s.known[name] != nil {
			continue
		}
		p, err := s.d.provider(ctx, name, func(text string) { s.retried = true; s.tell(EventRetry, text) })
		if err != nil {
			return err
		}
		s.known[name] = p
	}
	return nil
}

// run tries the choices, again as long as they are waited for.
func (s *start) run(ctx context.Context) error {
	if s.maxWait <= 0 {
		return s.round(ctx)
	}
	w := &waiting{start: s, until: s.d.Clock.Now().Add(s.maxWait)}
	defer w.leave()
	for {
		err := s.round(ctx)
		if sdk.CodeOf(err) != sdk.NoCapacity || ctx.Err() != nil {
			return err
		}
		if err := w.wait(ctx, err); err != nil {
			return err
		}
	}
}

// round tries each choice once.
func (s *start) round(ctx context.Context) error {
	failed := &ChoicesError{}
	s.visit = visit{}
	for i := range s.choices {
		err := s.attempt(ctx, i)
		if err == nil {
			return nil
		}
		if len(s.choices) == 1 {
			return err
		}
		if sdk.CodeOf(err) != sdk.NoCapacity {
			return fmt.Errorf("%s: %w", s.at.label(), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		failed.Attempts = append(failed.Attempts, s.rec.attempt(s.at, err))
		failed.errs = append(failed.errs, err)
		if s.last {
			break
		}
		if err := s.next(ctx, i+1, err); err != nil {
			return err
		}
	}
	return failed
}

// attempt tries one choice, of which the ledger knows already.
func (s *start) attempt(ctx context.Context, i int) (err error) {
	s.index, s.at, s.last = i, &s.choices[i], i == len(s.choices)-1
	s.p = s.known[s.at.Provider]
	if err := s.tooLong(ctx); err != nil {
		return err
	}
	if s.spec, err = s.at.spec(&s.rec); err != nil {
		return err
	}
	creating, cancel := s.answering(ctx)
	defer cancel()
	if err := s.createSparing(creating); err != nil {
		return err
	}
	return s.await(ctx)
}

// answering is the real time that a provider has which never answers.
func (s *start) answering(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.d.StartTimeout)
}

// next ends what a choice has rented and makes the record that of the next one.
func (s *start) next(ctx context.Context, i int, why error) error {
	ending, cancel := s.d.ending(ctx)
	defer cancel()
	if err := s.takeBack(ending, why); err != nil {
		return fmt.Errorf("%w; the next choice was not tried, for this one could not be ended: %w", why, err)
	}
	if err := s.onTime(ctx); err != nil {
		return err
	}
	s.tell(EventChoice, fmt.Sprintf("%s: %s; trying %s", s.at.label(), oneLine(why), s.choices[i].label()))
	s.d.unroute(ending, s.rec.ID)
	given := s.rec.attempt(s.at, why)
	return s.turnTo(ctx, i, func(r *Record) { r.Attempts = append(r.Attempts, given) })
}

// turnTo makes the record that of another choice, or of the same one under a new key.
func (s *start) turnTo(ctx context.Context, i int, change func(*Record)) error {
	before := s.rec
	account, err := s.d.account(ctx, s.choices[i].Provider)
	if err != nil {
		return err
	}
	err = s.record(ctx, func(r *Record) {
		change(r)
		r.Key = newKey()
		r.choose(&s.choices[i], s.d.Clock.Now())
		r.Account = account
	})
	if err != nil {
		s.rec = before // nothing was begun under the new key
	}
	return err
}

// createSparing asks again, without the ports that the machine can spare, where the provider
// cannot make what was asked for.
func (s *start) createSparing(ctx context.Context) error {
	err := s.create(ctx)
	if sdk.CodeOf(err) != sdk.Unsupported || len(s.at.OptionalPorts) == 0 {
		return err
	}
	s.spec.Ports = slices.DeleteFunc(slices.Clone(s.spec.Ports), func(p int) bool { return slices.Contains(s.at.OptionalPorts, p) })
	if err = s.create(ctx); err == nil {
		s.onEvent(s.unexposedEvent())
	}
	return err
}

func (s *start) unexposedEvent() Event {
	e := Event{Kind: EventUnexposed, ID: s.rec.ID, State: s.rec.State,
		Text: fmt.Sprintf("%s leads to no port but the runtime's; forward %s to reach what listens there", s.rec.Provider, ports(s.at.OptionalPorts))}
	for _, port := range s.at.OptionalPorts {
		e.Remedies = append(e.Remedies, remedy.Remedy{Action: remedy.ForwardPort, Sandbox: s.rec.ID, Port: strconv.Itoa(port)})
	}
	return e
}

func ports(list []int) string {
	texts := make([]string, len(list))
	for i, port := range list {
		texts[i] = strconv.Itoa(port)
	}
	return strings.Join(texts, " and ")
}

// create repeats the provider's step until there is a handle.
func (s *start) create(ctx context.Context) error {
	var cursor json.RawMessage
	for {
		if err := s.onTime(ctx); err != nil {
			return err
		}
		step, err := s.ask(ctx, cursor)
		if err != nil {
			return err
		}
		for _, line := range step.Log {
			s.tell(EventLog, line)
		}
		if step.Handle != "" {
			return s.record(ctx, func(r *Record) { r.Handle, r.State, r.RentedAt = step.Handle, sdk.Starting, s.d.Clock.Now() })
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

// ask makes one step, and keeps the ledger's word of when that was last asked for: should
// this program be killed, its machine may appear some time after it.
func (s *start) ask(ctx context.Context, cursor json.RawMessage) (sdk.CreateStep, error) {
	if s.d.late(s.rec.Provider) == 0 {
		return s.p.Create(ctx, s.spec, cursor)
	}
	if cursor != nil {
		if err := s.record(ctx, func(r *Record) { r.AskedAt = s.d.Clock.Now() }); err != nil {
			return sdk.CreateStep{}, err
		}
	}
	// A cancelled step comes to its end, and is still asked for until then.
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	id := s.rec.ID
	work.Go(func() { s.d.keepAsking(asking, id) })
	return s.p.Create(ctx, s.spec, cursor)
}

// keepAsking notes in the ledger, until ctx ends, that a provider is still asked.
func (d *Driver) keepAsking(ctx context.Context, id string) {
	for retry.Sleep(ctx, askedBeat) == nil {
		_, _ = d.Ledger.Update(ctx, id, func(r *Record) error { r.AskedAt = d.Clock.Now(); return nil }) // the next one tries again
	}
}

const askedBeat = 15 * time.Second

const (
	firstPoll  = 3 * time.Millisecond
	maxPoll    = 3 * time.Second
	impatience = 100 * time.Millisecond // within which a machine of this computer is there; a cloud does not answer twice in it
)

// await observes the machine until its runtime can be reached.
func (s *start) await(ctx context.Context) error {
	began := s.d.Clock.Now()
	queue := s.enter()
	for poll := firstPoll; ; {
		if err := s.onTime(ctx); err != nil {
			return err
		}
		now, routes, err := s.see(ctx)
		if err != nil {
			return err
		}
		ready, err := s.look(ctx, now, routes, queue)
		if ready || err != nil {
			return err
		}
		if err := s.d.Clock.Sleep(ctx, max(poll, s.at.Poll, seconds(now.AfterSeconds))); err != nil {
			return err
		}
		if s.d.Clock.Now().Sub(began) > impatience {
			poll = min(poll*3/2, cmp.Or(s.at.LongestPoll, maxPoll))
		}
	}
}

// see is how the machine is now, and the ways to it.
func (s *start) see(ctx context.Context) (sdk.Observation, []RoutedPort, error) {
	ctx, cancel := s.answering(ctx)
	defer cancel()
	seen, err := observe(ctx, s.p, []string{s.rec.Handle})
	if err != nil {
		return sdk.Observation{}, nil, err
	}
	now := seen[s.rec.Handle]
	routes, err := s.d.routed(ctx, s.p, &s.rec, &now)
	return now, routes, err
}

// look takes over what was observed and says whether the start is done.
func (s *start) look(ctx context.Context, o sdk.Observation, routes []RoutedPort, q *queue) (ready bool, err error) {
	if !o.State.Live() {
		code := sdk.Unavailable
		if o.Code == sdk.NoCapacity {
			code = o.Code
		}
		return false, sdk.Errorf(code, "the machine ended before it could be reached%s", because(o.Message))
	}
	if err := s.rec.tooDear(s.at, o); err != nil {
		return false, err
	}
	if err := s.leaveQueue(ctx, o); err != nil {
		return false, err
	}
	if o.State == sdk.Running && hasPort(o.Endpoints, s.spec.Port) {
		return true, s.record(ctx, func(r *Record) { r.observed(o, routes); r.ready(s.d.Clock.Now()) })
	}
	if state := reachable(o, s.spec.Port); state != s.rec.State || o.Message != s.rec.Message {
		if err := s.record(ctx, func(r *Record) { r.observed(o, routes); r.State = state }); err != nil {
			return false, err
		}
	}
	return false, s.waitedIn(q, o)
}

// onTime ends a start that was cancelled or takes too long. The machine itself can
// keep its time only once its program runs.
func (s *start) onTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch now := s.d.Clock.Now(); {
	case now.After(s.deadline):
		return sdk.Errorf(sdk.Unavailable, "the machine was not ready within %s", s.d.StartTimeout)
	case !s.rec.HardEnd.IsZero() && now.After(s.rec.HardEnd):
		return sdk.Errorf(sdk.Invalid, "the machine's time was over before it could be reached; raise timeout, or the budget that shortens it")
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
	said, message := "the start failed", cause.Error()
	if errors.Is(cause, context.Canceled) {
		said = "the start was cancelled"
		message = said
	}
	s.tell(EventCleanup, said+"; ending what there is of the machine")
	ctx, cancel := s.d.ending(ctx)
	defer cancel()
	if s.refused(cause) {
		_, _ = s.d.Ledger.Update(ctx, s.rec.ID, func(r *Record) error { r.AskedAt = time.Time{}; return nil }) // it is looked for once more
	}
	leftover := s.d.release(ctx, s.p, &s.rec, true)
	r, err := s.d.finish(ctx, s.rec, sdk.Failed, message, leftover)
	if r.ID != "" {
		s.rec = r
	}
	if message != said {
		s.tell(EventState, message)
	}
	return errors.Join(cause, err)
}

// refused reports that a start has failed in a way after which no machine can appear: its
// provider has said no, and has answered everything before.
func (s *start) refused(cause error) bool {
	switch sdk.CodeOf(cause) {
	case sdk.Invalid, sdk.Unauthorized, sdk.NoCapacity, sdk.Unsupported, sdk.NotFound:
		return !s.retried && !errors.Is(cause, context.Canceled)
	}
	return false
}

func (s *start) tell(kind EventKind, text string) {
	s.onEvent(Event{Kind: kind, ID: s.rec.ID, State: s.rec.State, Text: text})
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
