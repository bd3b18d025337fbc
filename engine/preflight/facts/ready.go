package facts

import (
	"context"
	"sync"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/engine/readiness"
	"github.com/seer-engine/seer/sdk"
)

// checks has the providers that may be chosen look at what the machine of an experiment needs, all
// at once, beside other work. It looks up what was found some minutes ago.
func (c *Collector) checks(ctx context.Context, exp *experiment.Experiment, f *preflight.Facts) <-chan map[string]preflight.Checked {
	done := make(chan map[string]preflight.Checked, 1)
	var names []string
	for _, name := range f.Candidates(exp) {
		for _, p := range f.Providers {
			if p.Name == name && p.Has(sdk.FeatureCheck) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 || len(exp.Mistakes()) > 0 {
		done <- nil
		return done
	}
	go func() {
		found := map[string]preflight.Checked{}
		var lock sync.Mutex
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				findings, err := c.Ready.Known(ctx, name, readiness.Query(exp, name, c.getenv))
				lock.Lock()
				defer lock.Unlock()
				found[name] = preflight.Checked{Findings: findings, Err: err}
			})
		}
		all.Wait()
		done <- found
	}()
	return done
}
