package sdktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// hostile lists a check for each fault.
func (l *lab) hostile() []Check {
	var checks []Check
	for _, s := range storms() {
		checks = append(checks, Check{Name: "hostile/" + s.name, Doc: s.doc + ".", run: func(ctx context.Context, t *trial) { l.weather(ctx, t, s) }})
	}
	return checks
}

// weather lets every method meet a fault.
func (l *lab) weather(ctx context.Context, t *trial, s storm) {
	if !l.networked(t, "there is no network to go wrong") {
		return
	}
	if l.kit.Quick && s.long() {
		t.skipf("it costs time, and the kit is to be quick")
		return
	}
	spec, handle, ok := rent(ctx, l, t, s.name)
	if !ok {
		return
	}
	l.offersIn(ctx, t, s)
	l.listIn(ctx, t, s, spec.Owner)
	l.observeIn(ctx, t, s, handle)
	l.createIn(ctx, t, s)
	l.terminateIn(ctx, t, s, handle)
}

// in makes a call while the fault lasts.
func (l *lab) in(ctx context.Context, s storm, f func(context.Context) error) error {
	defer l.world.Inject(Fault{Effect: s.make()})()
	if !s.slow {
		return f(ctx)
	}
	return l.guard.twice(func() error {
		ctx, cancel := context.WithTimeout(ctx, l.kit.moment)
		defer cancel()
		return f(ctx)
	})
}

// wrong says what is not right about the error of a call that met the fault.
func (s storm) wrong(err error) string {
	var e *sdk.Error
	switch {
	case isDefect(err):
		return err.Error()
	case s.must:
		return describe(err) + "; success was expected"
	case s.slow && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return ""
	case !errors.As(err, &e):
		return describe(err) + "; make it an *sdk.Error: " + codes(s.codes)
	case !slices.Contains(s.codes, e.Code):
		return describe(err) + "; expected was " + codes(s.codes)
	case s.after != [2]float64{} && (e.Seconds < s.after[0]-0.1 || e.Seconds > s.after[1]):
		return fmt.Sprintf("%s, after %v seconds; Retry-After said between %v and %v", describe(err), e.Seconds, s.after[0], s.after[1])
	}
	return ""
}

func codes(list []sdk.Code) string {
	text := ""
	for i, c := range list {
		if i > 0 {
			text += " or "
		}
		text += string(c)
	}
	return text
}

// judge is about one call; harmless says whether its success was right.
func (s storm) judge(t *trial, method string, err error, harmless bool, instead string) {
	if err != nil {
		if text := s.wrong(err); text != "" {
			t.failf("%s: %s", method, text)
		}
		return
	}
	if !s.must && !harmless {
		t.failf("%s succeeded: %s; expected was %s", method, instead, codes(s.codes))
	}
}

func (l *lab) offersIn(ctx context.Context, t *trial, s storm) {
	var offers []sdk.Offer
	err := l.in(ctx, s, func(ctx context.Context) (err error) { offers, err = l.open().Offers(ctx, l.kit.Query); return err })
	s.judge(t, "Offers", err, s.fine && s.name != "status-404", fmt.Sprintf("it gave %s, though no answer was sensible", number(len(offers), "offer")))
	if err == nil && s.must && len(offers) == 0 {
		t.failf("Offers: nothing is offered any more")
	}
}

func (l *lab) listIn(ctx context.Context, t *trial, s storm, owner string) {
	var all []sdk.Listed
	err := l.in(ctx, s, func(ctx context.Context) (err error) { all, err = l.open().List(ctx, owner); return err })
	s.judge(t, "List", err, s.fine && s.name != "status-404", fmt.Sprintf("it gave %s, so that Seer takes those that are missing for gone", number(len(all), "machine")))
	if err == nil && s.must && len(all) == 0 {
		t.failf("List: it gives nothing any more")
	}
}

func (l *lab) observeIn(ctx context.Context, t *trial, s storm, handle string) {
	var all []sdk.Observation
	err := l.in(ctx, s, func(ctx context.Context) (err error) { all, err = l.open().Observe(ctx, []string{handle}); return err })
	lives := len(all) == 1 && all[0].State.Live()
	s.judge(t, "Observe", err, s.fine || lives && !s.never || away(all), fmt.Sprintf("it gave %s, though no answer was sensible", shorten(jsonOf(all))))
	if err == nil && s.must && !lives {
		t.failf("Observe: it gave %s, and the machine lives", shorten(jsonOf(all)))
	}
}

// look observes a machine. That nobody can be asked is an error, too.
func look(ctx context.Context, p guarded, handle string) error {
	all, err := p.Observe(ctx, []string{handle})
	if err == nil && away(all) {
		return sdk.Errorf(sdk.Unavailable, "%s", all[0].Message)
	}
	return err
}

// away reports whether what was observed is that nobody can be asked, which is an answer where
// nobody has answered.
func away(all []sdk.Observation) bool {
	for _, o := range all {
		if o.State != sdk.Unreachable || o.Message == "" {
			return false
		}
	}
	return len(all) > 0
}

// createIn begins a creation in the fault and ends it after.
func (l *lab) createIn(ctx context.Context, t *trial, s storm) {
	owner := l.owner()
	defer l.end(ctx, t, owner)
	c := &creation{l: l, spec: l.spec(ctx, owner)}
	handle := ""
	err := l.in(ctx, s, func(ctx context.Context) (err error) {
		handle, err = l.some(ctx, c)
		return err
	})
	body := !s.never && !s.final
	going := handle == "" && !s.final // a cursor
	s.judge(t, "Create", err, s.fine || going || body, "it gave "+shorten(handle+string(c.cursor))+", though no answer was sensible")
	if isDefect(err) {
		return
	}
	if s.must && handle == "" && err == nil {
		t.failf("Create: it did not come to an end")
	}
	after := &creation{l: l, spec: c.spec, cursor: c.cursor}
	handle, err = after.finish(ctx)
	if err != nil && len(c.cursor) > 0 && !isDefect(err) {
		after = &creation{l: l, spec: c.spec} // what the engine does next time
		handle, err = after.finish(ctx)
	}
	if err != nil {
		t.failf("Create, when the fault was over: %s", describe(err))
		return
	}
	l.one(ctx, t, c.spec, handle)
}

// maxGoing is how many calls of Create meet a fault.
const maxGoing = 6

// some makes calls until one fails, or there is a handle.
func (l *lab) some(ctx context.Context, c *creation) (string, error) {
	for range maxGoing {
		step, err := l.open().Create(ctx, c.spec, c.cursor)
		if err != nil || step.Handle != "" {
			return step.Handle, err
		}
		if err := checkCursor(step.Cursor); err != nil {
			return "", err
		}
		c.cursor = step.Cursor
		if err := l.kit.Sleep(ctx, min(seconds(step.AfterSeconds), 100*time.Millisecond)); err != nil {
			return "", nil // slow: the moment is over
		}
	}
	return "", nil
}

func (l *lab) terminateIn(ctx context.Context, t *trial, s storm, handle string) {
	err := l.in(ctx, s, func(ctx context.Context) error { return l.open().Terminate(ctx, handle) })
	s.judge(t, "Terminate", err, !s.never, "it says that the machine is ended, though nobody was heard to do it")
}

// cancelReturns gives calls up while a backend says nothing.
func (l *lab) cancelReturns(ctx context.Context, t *trial) {
	if !l.networked(t, "there is nothing to wait for") {
		return
	}
	rented, victim, ok := rent(ctx, l, t, "cancel")
	if !ok {
		return
	}
	owner := rented.Owner
	spec := l.spec(ctx, owner)
	remove := l.world.Inject(Fault{Effect: Unanswered()})
	defer remove()
	for name, f := range map[string]func(context.Context) error{
		"Offers":    func(ctx context.Context) error { _, err := l.open().Offers(ctx, l.kit.Query); return err },
		"Create":    func(ctx context.Context) error { _, err := l.open().Create(ctx, spec, nil); return err },
		"Observe":   func(ctx context.Context) error { return look(ctx, l.open(), victim) },
		"List":      func(ctx context.Context) error { _, err := l.open().List(ctx, owner); return err },
		"Terminate": func(ctx context.Context) error { return l.open().Terminate(ctx, victim) },
	} {
		err := l.guard.twice(func() error {
			early, cancel := context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
			return f(early)
		})
		var e *sdk.Error
		switch {
		case isDefect(err):
			t.failf("%v", err)
		case err == nil && name != "Create":
			t.failf("%s succeeded, though it was given up and nobody had answered", name)
		case err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, &e):
			t.failf("%s: %s; return the context's error, or unavailable", name, describe(err))
		}
	}
	remove()
	l.end(ctx, t, owner)
	handle, err := l.create(ctx, spec)
	if t.try("after Create was given up", err) {
		l.one(ctx, t, spec, handle)
	}
}
