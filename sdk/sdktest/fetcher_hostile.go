package sdktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

func (s *source) cancelReturns(ctx context.Context, t *trial) {
	if !s.lab.networked(t, "there is nothing to wait for") {
		return
	}
	defer s.lab.world.Inject(Fault{Effect: Unanswered()})()
	err := s.lab.guard.twice(func() error {
		early, cancel := context.WithTimeout(ctx, s.lab.kit.moment)
		defer cancel()
		_, err := s.resolve(early, s.kit.Model)
		return err
	})
	var e *sdk.Error
	if err == nil {
		t.failf("Resolve succeeded, though nobody had answered")
	} else if !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &e) {
		t.failf("Resolve: %s; return the context's error, or unavailable", describe(err))
	}
}

func (s *source) weather(ctx context.Context, t *trial, st storm) {
	if !s.lab.networked(t, "there is no network to go wrong") {
		return
	}
	if s.kit.Quick && st.long() {
		t.skipf("it costs time, and the kit is to be quick")
		return
	}
	m, ok := s.model(ctx, t)
	if !ok {
		return
	}
	var got sdk.ResolvedModel
	err := s.lab.in(ctx, st, func(ctx context.Context) (err error) { got, err = s.resolve(ctx, s.kit.Model); return err })
	st.judge(t, "Resolve", err, st.fine && st.name != "status-404", fmt.Sprintf("it gave %s, though no answer was sensible", number(len(got.Files), "file")))
	if err == nil && st.must && !same(got, m) {
		t.failf("Resolve: it gave something else than in good weather")
	}
	before := s.lab.world.Count()
	var at sdk.Location
	err = s.lab.in(ctx, st, func(ctx context.Context) (err error) { at, err = s.locate(ctx, s.file(m, m.Files[0].Path)); return err })
	if asked := s.lab.world.Count() > before; asked { // many locations are known without a request
		st.judge(t, "Locate", err, st.fine, "it gave "+shorten(at.URL)+", though no answer was sensible")
	} else if isDefect(err) {
		t.failf("Locate: %v", err)
	}
	if again, err := s.resolve(ctx, s.kit.Model); err != nil || !same(again, m) {
		t.failf("Resolve, when the fault was over: %s", describe(err))
	}
}

func (s *source) endSecrets(ctx context.Context, t *trial) {
	s.lab.kit.Secrets = append(s.lab.kit.Secrets, s.headers...)
	s.lab.endSecrets(ctx, t)
}
