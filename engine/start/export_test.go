package start

import (
	"context"

	"github.com/seer-engine/seer/engine/plan"
)

// WithHolders is the error of a start by a plan.
func (s *Starter) WithHolders(ctx context.Context, made plan.Plan, err error) error {
	return (&preparation{Starter: s, plan: made}).withHolders(ctx, err)
}
