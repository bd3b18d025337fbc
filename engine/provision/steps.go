package provision

import (
	"context"
	"errors"
)

// Step is one part of a start.
type Step struct {
	Do func(context.Context) error
	// Undo ends what Do has made, when a later step fails for this cause. Nil = there is
	// nothing to end.
	Undo func(ctx context.Context, cause error) error
}

// Run takes the steps in their order. When one fails, those before it are undone, the last
// one first, and the error has those of undoing, too. A step that fails leaves nothing
// itself.
func Run(ctx context.Context, steps ...Step) error {
	for i, step := range steps {
		err := step.Do(ctx)
		if err == nil {
			continue
		}
		cause := err
		for j := i - 1; j >= 0; j-- {
			if undo := steps[j].Undo; undo != nil {
				err = errors.Join(err, undo(ctx, cause))
			}
		}
		return err
	}
	return nil
}
