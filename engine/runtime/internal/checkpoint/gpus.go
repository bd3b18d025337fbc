package checkpoint

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// gpusBack is a parking whose processes were taken off GPUs, if they had any.
type gpusBack struct {
	copy atomic.Bool   // the machine has become another one
	done chan struct{} // closed when they are back, or could not be put back
	err  error
}

func (b *gpusBack) wait(ctx context.Context) error {
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.err != nil {
		return protocol.Errorf(protocol.Unavailable, "processes of the machine are not back on the GPU: %v", b.err)
	}
	return nil
}

// suspendTries is how often processes may come to the GPU while others are taken off.
const suspendTries = 5

// beginWithoutGPUs takes the processes off GPUs, for which they must move, and then has them
// stand still. What came to a GPU in between is taken off, too.
func (p *quiescence) beginWithoutGPUs(ctx context.Context) (answer protocol.Frozen, err error) {
	for tries := 1; ; tries++ {
		if err := p.c.deps.GPUs.Suspend(ctx); err != nil {
			return answer, protocol.Errorf(protocol.Conflict, "the processes cannot be taken off the GPU: %v", err)
		}
		if answer, err = p.begin(); err != nil {
			return answer, err
		}
		if err = p.c.deps.GPUs.Left(); err == nil {
			return answer, nil
		}
		if tries == suspendTries {
			return answer, protocol.Errorf(protocol.Conflict, "the processes cannot be taken off the GPU: %v", err)
		}
		p.end()
	}
}

// putBackAgain is the time between two tries for processes that did not go back.
const putBackAgain = 5 * time.Second

// putBack puts the processes back on their GPUs. The runtime retries those of the original that
// cannot go back yet; the provider ends a copy that cannot go back.
func (p *quiescence) putBack() {
	p.back.err = p.c.deps.GPUs.Resume(context.Background())
	close(p.back.done)
	if p.back.err == nil || p.back.copy.Load() {
		return
	}
	p.c.deps.Log.Error("processes are not back on the GPU; this is tried again", "error", p.back.err)
	go p.c.PutBack()
}

// PutBack has processes go on that were taken off GPUs, by an earlier runtime or without
// success, until none is left or the machine ends.
func (c *Handler) PutBack() {
	tick := time.NewTicker(putBackAgain)
	defer tick.Stop()
	for {
		err := c.deps.GPUs.Retry(context.Background())
		c.deps.Persist()
		if err == nil {
			return
		}
		c.deps.Log.Error("processes are not back on the GPU", "error", err)
		select {
		case <-tick.C:
		case <-c.deps.Over:
			return
		}
	}
}
