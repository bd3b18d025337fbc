package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
)

// ServeOptionsOf is how an experiment wants an interface served.
func ServeOptionsOf(s experiment.Serve) ServeOptions {
	return ServeOptions{File: s.File, Name: s.Name, ExposeAs: s.ExposeAs, Limits: protocol.Limits{
		KeepSeconds: s.Limits.Keep.Seconds(), KeepCalls: s.Limits.KeepCalls, KeepBytes: gibibytes(s.Limits.KeepSize),
		HandleSeconds: s.Limits.HandleKeep.Seconds(), HandleCount: s.Limits.Handles, HandleBytes: gibibytes(s.Limits.HandleSize),
		Queue: s.Limits.Queue,
	}}
}

func gibibytes(n float64) int64 { return int64(n * (1 << 30)) }

// Limited makes a token as an experiment limits its agent, and returns the service as the
// agent sees it. Without limits it is the service itself.
func (v *Service) Limited(ctx context.Context, a *experiment.Access) (*Service, error) {
	if a == nil {
		return v, nil
	}
	limits, err := TokenOf(*a, v.sandbox.engine.now())
	if err != nil {
		return nil, &Error{Kind: KindConfig, Err: fmt.Errorf("the access to %s: %w", v.Name(), err)}
	}
	limits.Name = "agent"
	held, _, err := v.NewToken(ctx, limits)
	return held, err
}

// TokenOf is a token with the limits of an access that begins now.
func TokenOf(a experiment.Access, now time.Time) (protocol.Token, error) {
	t := protocol.Token{Functions: a.Functions, Calls: a.Calls, SpendUSD: a.Spend}
	if a.Rate != "" {
		r, err := experiment.ParseRate(a.Rate)
		if err != nil {
			return t, err
		}
		t.Rate = []float64{float64(r.Calls), r.Per.Seconds()}
	}
	if a.Expires > 0 {
		t.Expires = now.Add(a.Expires).Unix()
	}
	for fn, params := range a.Arguments {
		for param, schema := range params {
			text, err := json.Marshal(schema)
			if err != nil {
				return t, fmt.Errorf("the bounds of %s.%s cannot be written as JSON: %w", fn, param, err)
			}
			if t.Arguments == nil {
				t.Arguments = map[string]map[string]json.RawMessage{}
			}
			if t.Arguments[fn] == nil {
				t.Arguments[fn] = map[string]json.RawMessage{}
			}
			t.Arguments[fn][param] = text
		}
	}
	return t, nil
}
