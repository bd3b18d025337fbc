package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// queuer is a provider with a queue, as the local one has for its GPUs. wait returns when a machine
// of the spec may start. Until then it reports with tell its place and the reason for the wait.
// leave gives up the place. wait and leave are nil if the spec needs no queue.
type queuer interface {
	Queue(ctx context.Context, spec sdk.MachineSpec) (wait func(ctx context.Context, tell func(string)) error, leave func(), err error)
}

// askAgain is the interval of tries at providers without a queue.
const askAgain = 30 * time.Second

// waiting is a start that waits for capacity of one of its choices.
type waiting struct {
	*start
	until  time.Time
	joined bool
	turns  []func(context.Context, func(string)) error // wait for the turn in each queue
	places []func()                                    // give up the place in each queue
	asks   bool                                        // some providers have no queue
}

// wait ends the last try, and returns when a choice may have capacity. The error includes why, the
// error of the last try, if that try cannot be ended or the time is over.
func (w *waiting) wait(ctx context.Context, why error) error {
	ending, cancel := w.d.ending(ctx)
	err := w.d.release(ending, w.p, &w.rec, true)
	cancel()
	if err != nil {
		return fmt.Errorf("%w; it was not waited for, for this one could not be ended: %w", why, err)
	}
	left := w.until.Sub(w.d.Clock.Now())
	if left <= 0 {
		var long *QueueError
		if errors.As(why, &long) && long.Expected == 0 {
			return why // it says how long which choice was waited for
		}
		return fmt.Errorf("nothing was free within %s: %w", w.maxWait, why)
	}
	w.again = true
	if err := w.join(ctx); err != nil {
		return err
	}
	if w.asks { // a queue reports its own messages
		if err := w.say(ctx, "waiting: "+oneLine(why)); err != nil {
			return err
		}
	}
	if err := w.first(ctx, left); err != nil {
		return err
	}
	w.deadline = w.d.Clock.Now().Add(w.d.StartTimeout)
	return w.turnTo(ctx, 0, func(*Record) {})
}

// join takes a place in each queue.
func (w *waiting) join(ctx context.Context) error {
	if w.joined {
		return nil
	}
	w.joined = true
	for i := range w.choices {
		c := &w.choices[i]
		p := w.known[c.Provider]
		if r, ok := p.(*retrier); ok {
			p = r.next
		}
		q, ok := p.(queuer)
		if !ok {
			w.asks = true
			continue
		}
		spec, err := c.spec(&w.rec)
		if err != nil {
			return err
		}
		spec.EndUnix = 0 // the sandbox's end is counted from the end of the wait
		turn, leave, err := q.Queue(ctx, spec)
		if err != nil {
			return err
		}
		if turn == nil {
			w.asks = true
			continue
		}
		w.turns, w.places = append(w.turns, turn), append(w.places, leave)
	}
	return nil
}

// say records the reason for the wait. The sandbox has no hard end meanwhile.
func (w *waiting) say(ctx context.Context, text string) error {
	return w.record(ctx, func(r *Record) { r.HardEnd, r.Message = time.Time{}, text })
}

// first returns when the turn has come in one of the queues, or when left has passed. With
// providers without a queue it returns after askAgain at the latest.
func (w *waiting) first(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.asks {
		left = min(left, askAgain)
	}
	done, said := make(chan error, len(w.turns)+1), make(chan string)
	for _, turn := range w.turns {
		go func() {
			done <- turn(ctx, func(text string) {
				select {
				case said <- text:
				case <-ctx.Done():
				}
			})
		}()
	}
	go func() { done <- w.d.Clock.Sleep(ctx, left) }()
	for {
		select {
		case err := <-done:
			return err
		case text := <-said:
			if err := w.say(ctx, text); err != nil {
				return err
			}
		}
	}
}

// leave gives up the places in all queues.
func (w *waiting) leave() {
	for _, leave := range w.places {
		leave()
	}
}
