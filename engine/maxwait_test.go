package engine_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// An own cluster keeps everything in its queue; the cloud behind it gets the sandbox after max_wait,
// or at once where the cluster expects a longer wait. Nothing is left in the queue.
func TestMaxWaitOfAnExperiment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		offer   sdk.Offer
		said    string
		creates int
	}{
		"it waits":        {sdk.Offer{ID: "gpu"}, "nothing was free within 1s; trying rented", 1},
		"it would wait":   {sdk.Offer{ID: "gpu", WaitSeconds: 3600, Queue: "3 jobs wait"}, "a machine would wait for about 1h0m0s, longer than 1s: 3 jobs wait; trying rented", 0},
		"it is not known": {sdk.Offer{ID: "gpu", Queue: "3 jobs wait"}, "nothing was free within 1s; trying rented", 1},
	} {
		own := enginetest.NewProvider("own", machine.SystemClock{}, enginetest.Script{Queue: 24 * time.Hour, Offers: []sdk.Offer{tc.offer}})
		cloud := &rented{dir: t.TempDir(), machines: map[string]*exec.Cmd{}, ports: map[string]int{}}
		e := newEngine(t, func(o *engine.Options) {
			o.PluginDirs, o.Providers = nil, map[string]sdk.Provider{"own": own, "rented": cloud}
		})
		exp := load(t, map[string]string{"seer.yaml": "sandbox: {provider: [own, rented], max_wait: 1s}\n"})
		p, err := e.Plan(t.Context(), exp, engine.CheckOptions{})
		if err != nil || p.MaxWait != 1 || len(p.Choices) != 2 || p.Choices[0].WaitSeconds != tc.offer.WaitSeconds || p.Choices[0].Queue != tc.offer.Queue {
			t.Fatalf("%s: %+v, %v", name, p.Choices, err)
		}
		var log []string
		s := up(t, e, exp, engine.UpOptions{Progress: func(ev engine.Event) { log = append(log, eventtext.Sentence(ev)) }})
		if text := strings.Join(log, "\n"); !strings.Contains(text, tc.said) {
			t.Errorf("%s: the user saw %s", name, text)
		}
		if live := own.Live(); len(live) != 0 || len(cloud.machines) != 1 || own.Calls(enginetest.OpCreate) != tc.creates {
			t.Errorf("%s: %d creations and %+v in the queue, %d machines at the cloud", name, own.Calls(enginetest.OpCreate), live, len(cloud.machines))
		}
		if err := s.Terminate(t.Context()); err != nil || len(cloud.machines) != 0 {
			t.Errorf("%s: terminate: %v, %d machines left", name, err, len(cloud.machines))
		}
	}
}
