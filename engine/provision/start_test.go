package provision

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/sdk"
)

// cloud is a driver, a ledger and a provider with one machine.
type cloud struct {
	sdk.Provider
	refuses error
	state   sdk.State // of the machine; empty = it runs
	full    bool      // its memory
	rec     machine.Record
	ended   []string // why, each time
}

func (c *cloud) Start(_ context.Context, r machine.Record, choices []machine.Choice, _ func(machine.Event)) (machine.Record, error) {
	c.rec = r
	c.rec.State, c.rec.Provider, c.rec.Handle = sdk.Running, choices[0].Provider, "h"
	return c.rec, c.refuses
}

func (c *cloud) Snapshot(context.Context, machine.Record, func(machine.Event)) (string, error) {
	return "", errors.New("it saves nothing")
}

func (c *cloud) End(ctx context.Context, r machine.Record, why string) (machine.Record, error) {
	c.ended = append(c.ended, why)
	return r, ctx.Err()
}

func (c *cloud) Owner() string                      { return "me" }
func (c *cloud) Get(string) (machine.Record, error) { return c.rec, nil }
func (c *cloud) Update(_ context.Context, _ string, change func(*machine.Record) error) (machine.Record, error) {
	return c.rec, change(&c.rec)
}

func (c *cloud) MemoryFull(handle string) bool { return c.full && handle == c.rec.Handle }

func (c *cloud) Observe(_ context.Context, handles []string) ([]sdk.Observation, error) {
	if c.state == "" {
		return []sdk.Observation{{Handle: handles[0], State: sdk.Running}}, nil
	}
	c.rec.State, c.rec.Message = c.state, "its disk broke" // the ledger knows, too
	return []sdk.Observation{{Handle: handles[0], State: c.state}}, nil
}

// A start that fails ends what it has rented, once, and says why it failed.
func TestFailedStartEndsTheMachine(t *testing.T) {
	t.Parallel()
	exp, err := experiment.Parse([]byte("sandbox: {timeout: 10m}"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no way to it")
	const fullMemory = "e.yaml:1: sandbox.memory: the sandbox was killed: the sandbox's memory was full; set sandbox.memory to more"
	for name, c := range map[string]struct {
		refuses error
		state   sdk.State
		full    bool
		cancel  bool
		ended   []string
		want    string
	}{
		"nothing is rented":    {refuses: errors.New("sold out"), want: "sold out"},
		"it cannot be reached": {ended: []string{broken.Error()}, want: broken.Error()},
		"it ends by itself":    {state: sdk.Failed, ended: []string{"while it was started, the sandbox ended: its disk broke"}, want: "while it was started, the sandbox ended: its disk broke"},
		"its memory is full": {state: sdk.Failed, full: true, ended: []string{fullMemory + "\nwhile it was started, the sandbox ended: its disk broke"},
			want: fullMemory + "\nwhile it was started, the sandbox ended: its disk broke"},
		"the start is given up": {cancel: true, ended: []string{"the start was cancelled"}, want: context.Canceled.Error()},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		fake := &cloud{refuses: c.refuses, state: c.state, full: c.full}
		s := &start{Request: Request{Experiment: exp, Plan: plan.Plan{Choices: []plan.Choice{{Provider: "fake"}}}}, Provisioner: Provisioner{
			Driver: fake, Ledger: fake, Now: time.Now, Native: func(string) bool { return false },
			Observer: Observer{Provider: func(context.Context, string) (sdk.Provider, error) { return fake, nil }, Record: fake.Get},
			Connect: func(machine.Record) (Machine, error) {
				if c.cancel {
					cancel()
					return Machine{}, ctx.Err()
				}
				return Machine{}, broken
			},
		}}
		if err := s.run(ctx); err == nil || !strings.Contains(err.Error(), c.want) || !c.full && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		} else if kind := errdefs.KindOf(err); c.full && kind != errdefs.KindConfig || c.state != "" && !c.full && kind != errdefs.KindProvider {
			t.Errorf("%s: %s", name, kind)
		}
		if !slices.Equal(fake.ended, c.ended) {
			t.Errorf("%s: ended for %q", name, fake.ended)
		}
	}
}
