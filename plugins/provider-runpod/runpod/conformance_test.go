package runpod_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// running is a clock that can be put forward. One that stood still would make pods of
// one age, of which nobody could say which is the older.
type running struct {
	*enginetest.Clock
	began time.Time
}

func (r running) Now() time.Time { return r.Clock.Now().Add(time.Since(r.began)) }

func TestConformance(t *testing.T) {
	clock := running{enginetest.NewClock(), time.Now()}
	r := newRig(t, func(o *fakerunpod.Options) { o.Clock = clock })
	there, err := sdktest.Remote(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	sdktest.Provider(t, sdktest.ProviderKit{
		Open: func(c *http.Client) sdk.Provider {
			return &runpod.Provider{
				Settings: func() (map[string]string, error) {
					return map[string]string{"api_url": "https://api.runpod.example", "proxy_url": r.env["RUNPOD_PROXY_URL"]}, nil
				},
				Transport: c.Transport,
				Now:       clock.Now,
			}
		},
		World:    sdktest.NewWorld(there),
		Headers:  http.Header{"Authorization": {"Bearer " + r.key}},
		Query:    sdk.OfferQuery{CPU: 2},
		Supports: []sdktest.Part{sdktest.PartDisk, sdktest.PartPorts, sdktest.PartImage, sdktest.PartPython},
		Machines: r.machines,
		SoldOut: func() func() {
			r.SetBehaviour(fakerunpod.Behaviour{NoCapacity: true})
			return func() { r.SetBehaviour(fakerunpod.Behaviour{}) }
		},
		// RunPod's time passes with the waits; what is real is only the boot of a pod.
		Sleep: func(ctx context.Context, d time.Duration) error {
			clock.Advance(d)
			time.Sleep(min(d, 2*time.Millisecond))
			return ctx.Err()
		},
		Quick: os.Getenv("SEER_SOAK") == "",
	})
	r.wantLive()
}

// machines are the pods as the kit knows them.
func (r *rig) machines() (all []sdktest.Machine) {
	for _, p := range r.Pods() {
		m := sdktest.Machine{Handle: p.ID, Command: p.Command, Env: p.Env, Live: p.Live()}
		if len(p.Ports) > 0 {
			m.Port, _ = strconv.Atoi(strings.TrimSuffix(p.Ports[0], "/http")) // the kit compares
		}
		all = append(all, m)
	}
	return all
}
