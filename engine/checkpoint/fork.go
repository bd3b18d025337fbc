package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
)

// maxForks of one call: each takes the memory of the original.
const maxForks = 100

// checkForks refuses a number of copies that cannot be made at once.
func checkForks(n int) error {
	if n < 1 || n > maxForks {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("%d copies; between 1 and %d can be made at once", n, maxForks)}
	}
	return nil
}

// Fork says how the copies of a sandbox are made.
type Fork struct {
	Copies   int
	Name     string        // of the copies, followed by -1, -2 …; empty = none
	Attached time.Duration // 0 = detached
	Report   event.Reporter
}

// SaveError is the error of an original that could not be saved.
type SaveError struct{ Err error }

func (e *SaveError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *SaveError) Unwrap() error { return e.Err }

// Fork makes new sandboxes that go on where a running one is. If some copies fail, the
// others are returned with the error. Where the original could not be saved, that is a
// [SaveError].
func (c Checkpointer) Fork(ctx context.Context, s session.Session, f Fork) ([]provision.Machine, error) {
	if err := c.CheckSavable(ctx, s); err != nil {
		return nil, err
	}
	dir, done, err := c.workFolder(ctx)
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindInternal, err)
	}
	defer done()
	f.Report.Send(event.ProcessesSaving{Sandbox: s.ID})
	if err := c.save(ctx, s, dir, f.Copies, f.Report); err != nil {
		return nil, &SaveError{err}
	}
	r, err := c.restorer(ctx, dir)
	if err != nil {
		return nil, err
	}
	r.attached, r.report, r.share = f.Attached, f.Report, r.from.Record.Handle
	made, err := r.many(ctx, f.Copies, f.Name)
	f.Report.Send(event.ForksReady{Sandbox: s.ID, Forks: len(made)})
	return made, err
}

// many starts n copies, as many at once as this computer has processors.
func (r restorer) many(ctx context.Context, n int, name string) ([]provision.Machine, error) {
	made, errs := make([]provision.Machine, n), make([]error, n)
	places := make(chan struct{}, max(2, runtime.NumCPU()))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			one := r
			one.quiet = i > 0
			if name != "" {
				one.name = fmt.Sprintf("%s-%d", name, i+1)
			}
			made[i], errs[i] = one.run(ctx)
		})
	}
	all.Wait()
	// Until all are there they end soon if this program is killed: nobody knows their IDs.
	var good []provision.Machine
	for i, m := range made {
		if errs[i] == nil {
			errs[i] = r.release(ctx, m)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("copy %d: %w", i+1, errs[i])
			continue
		}
		good = append(good, m)
	}
	return good, errors.Join(errs...)
}
