package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/text"
)

// maxForks of one call: each takes the memory of the original.
const maxForks = 100

// ForkOptions say how a sandbox is forked.
type ForkOptions struct {
	// Name of the copies, followed by -1, -2 …; empty = none.
	Name string
	// Attached is as in [UpOptions].
	Attached time.Duration
	Progress Progress
}

// Fork makes n new sandboxes that go on where a running one is, with its processes and
// their memory, its files and its services: variables and loaded models are as they were.
// Keys, ports, end, random numbers and names of calls are each copy's own, and calls that
// ran end there as interrupted. The original stands still while it is saved, and goes on.
//
// It must be a sandbox of this computer in isolation gvisor, with a network of its own and
// no GPU; [KindUnsupported] otherwise. If some copies fail, the others are returned with
// the error.
func (e *Engine) Fork(ctx context.Context, ref string, n int, o ForkOptions) ([]*Sandbox, error) {
	if n < 1 || n > maxForks {
		return nil, &Error{Kind: KindConfig, Err: fmt.Errorf("%d copies; between 1 and %d can be made at once", n, maxForks)}
	}
	if err := e.plugins.Usable(); err != nil {
		return nil, err
	}
	s, err := e.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	report := e.reporter(o.Progress)
	if err := s.forkable(ctx); err != nil {
		return nil, err
	}
	dir, done, err := e.memoryWork(ctx)
	if err != nil {
		return nil, as(KindInternal, err)
	}
	defer done()
	report.Info(StageSnapshot, "saving the processes of %s", s.id)
	if err := s.saveMemory(ctx, dir, report); err != nil {
		return nil, s.notSaved(ctx, err)
	}
	w, err := e.waken(ctx, dir)
	if err != nil {
		return nil, saveError(err)
	}
	w.attached, w.report = o.Attached, report
	made, err := w.many(ctx, n, o.Name)
	report.Done(StageSnapshot, "%s of %s", text.Plural(len(made), "fork"), s.id)
	return made, as(KindProvider, err)
}

// forkable tells at once all of a sandbox for which its processes cannot be saved.
func (s *Sandbox) forkable(ctx context.Context) error {
	r, state, err := s.session().State()
	if err != nil {
		return err
	}
	if _, err := s.engine.localMemory(r.Provider); err != nil {
		return err
	}
	if state.Jupyter != nil { // processes without it would not be woken
		if err := s.session().CheckJupyter(ctx); err != nil {
			return err
		}
	}
	var wanted []string
	if r.Isolation != isolation.GVisor {
		wanted = append(wanted, "isolation: gvisor")
	}
	if r.Network != "none" && r.Network != "hosts" {
		wanted = append(wanted, "network: none (or a list of hosts)")
	}
	if len(wanted) == 0 {
		return nil
	}
	return &Error{Kind: KindUnsupported, Err: fmt.Errorf("the processes of %s cannot be saved: it has isolation %s and network %s; start it with %s", s.id, r.Isolation, r.Network, strings.Join(wanted, " and "))}
}

// many starts n copies, as many at once as this computer has processors.
func (w waking) many(ctx context.Context, n int, name string) ([]*Sandbox, error) {
	made, errs := make([]*Sandbox, n), make([]error, n)
	places := make(chan struct{}, max(2, runtime.NumCPU()))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			one := w
			one.quiet = i > 0
			if name != "" {
				one.name = fmt.Sprintf("%s-%d", name, i+1)
			}
			if made[i], errs[i] = one.run(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("copy %d: %w", i+1, errs[i])
			}
		})
	}
	all.Wait()
	// Until all are there they end soon if this program is killed: nobody knows their IDs.
	var good []*Sandbox
	for i, s := range made {
		if s == nil {
			continue
		}
		if errs[i] = w.release(ctx, s); errs[i] != nil {
			errs[i] = fmt.Errorf("copy %d: %w", i+1, errs[i])
			continue
		}
		good = append(good, s)
	}
	return good, errors.Join(errs...)
}
