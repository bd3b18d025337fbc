package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/seer-engine/seer/internal/retry"
	"github.com/seer-engine/seer/sdk"
)

const (
	maxQuestions = 4           // one, and three more after faults that may pass
	longestWait  = time.Minute // that a source may ask for before its answer
)

// again asks until there is an answer, as long as only a fault that may pass is in the way. It
// waits as long as the source wants.
func again[T any](ctx context.Context, ask func() (T, error)) (answer T, err error) {
	backoff := retry.Backoff{Min: 250 * time.Millisecond, Max: time.Second}
	for n := 1; ; n++ {
		answer, err = ask()
		if n == maxQuestions || !cannotBeAsked(ctx, err) {
			return answer, err
		}
		wait := backoff.Next()
		var said *sdk.Error
		if errors.As(err, &said) {
			wait = max(wait, said.After())
		}
		if wait > longestWait {
			return answer, err
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return answer, err
		}
	}
}
