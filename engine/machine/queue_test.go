package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// patient are choices that wait for so long in each queue.
func patient(d time.Duration) []machine.Choice {
	all := choices()
	for i := range all {
		all[i].MaxWait, all[i].Patience = d, d
	}
	return all
}

// The own cluster first, the cloud when the queue is longer than max_wait.
func TestMaxWaitInTheQueueOfTheFirstChoice(t *testing.T) {
	for name, tc := range map[string]struct {
		queue time.Duration
		want  string
	}{
		"shorter": {19 * time.Minute, "cloud"},
		"longer":  {21 * time.Minute, "other"},
	} {
		m := newMarket(t, enginetest.Script{Queue: tc.queue}, enginetest.Script{})
		began := m.clock.Now()
		r, err := m.rent(context.Background(), nil, patient(20*time.Minute)...)
		if err != nil || r.Provider != tc.want || len(m.live()) != 1 {
			t.Fatalf("%s: %+v, %v, machines %+v", name, r, err, m.live())
		}
		if waited := m.clock.Now().Sub(began); waited < 19*time.Minute || waited > 21*time.Minute {
			t.Errorf("%s: it took %s", name, waited)
		}
		if tc.want == "other" && !strings.Contains(m.text(machine.EventChoice), "cloud 2 × H100-SXM: nothing was free within 20m0s; trying other") {
			t.Errorf("the user saw %q", m.text(machine.EventChoice))
		}
		m.allKnown()
	}
}

func TestMaxWaitOfTheLastChoice(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 24 * time.Hour}, enginetest.Script{Queue: 24 * time.Hour})
	began := m.clock.Now()
	_, err := m.rent(context.Background(), nil, patient(20*time.Minute)...)
	want := "no machine could be had: cloud 2 × H100-SXM: nothing was free within 20m0s; other 2 × A100-80GB in eu: nothing was free within 20m0s"
	if err == nil || err.Error() != want || sdk.CodeOf(err) != sdk.NoCapacity {
		t.Errorf("%v, code %s", err, sdk.CodeOf(err))
	}
	if waited := m.clock.Now().Sub(began); waited < 40*time.Minute || waited > 41*time.Minute {
		t.Errorf("it took %s", waited)
	}
	m.nothingLeft()
	// Without max_wait, half an hour.
	m = newMarket(t, enginetest.Script{Queue: 24 * time.Hour}, enginetest.Script{})
	var long *machine.QueueError
	if _, err := m.rent(context.Background(), nil, choices()[0]); !errors.As(err, &long) || long.Limit != 30*time.Minute {
		t.Error(err)
	}
	m.nothingLeft()
}

// A queue that is expected to be too long is not joined, unless nothing else is left.
func TestTooLongAQueueIsNotJoined(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 3 * time.Hour}, enginetest.Script{})
	from := patient(20 * time.Minute)
	from[0].Wait, from[0].Queue = 3*time.Hour, "12 jobs wait"
	began := m.clock.Now()
	r, err := m.rent(context.Background(), nil, from...)
	if err != nil || r.Provider != "other" || m.clock.Now().Sub(began) > time.Minute {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := m.text(machine.EventChoice); got != "cloud 2 × H100-SXM: a machine would wait for about 3h0m0s, longer than 20m0s: 12 jobs wait; trying other 2 × A100-80GB in eu" {
		t.Errorf("the user saw %q", got)
	}
	if n := m.cloud.Calls(enginetest.OpCreate) + m.cloud.Calls(enginetest.OpList) + m.cloud.Calls(enginetest.OpTerminate); n != 0 {
		t.Errorf("%d calls of a provider that was asked for nothing", n)
	}
	if len(r.Attempts) != 1 || r.Attempts[0].Provider != "cloud" || r.Attempts[0].Key == r.Key {
		t.Errorf("attempts %+v", r.Attempts)
	}
	m = newMarket(t, enginetest.Script{Queue: 10 * time.Minute}, enginetest.Script{})
	if r, err := m.rent(context.Background(), nil, from[0]); err != nil || r.Provider != "cloud" {
		t.Errorf("the only one: %+v, %v", r, err)
	}
	from[0].Patience, from[0].MaxWait = 0, 0
	m = newMarket(t, enginetest.Script{}, enginetest.Script{})
	if r, err := m.rent(context.Background(), nil, from...); err != nil || r.Provider != "cloud" {
		t.Errorf("without max_wait: %+v, %v", r, err)
	}
}

// While everything is taken, the first provider is asked again what it expects.
func TestExpectationIsAskedForAgain(t *testing.T) {
	m := newMarket(t, enginetest.Script{Offers: []sdk.Offer{{ID: "h", GPU: "H100-SXM", WaitSeconds: 60}}, Queue: time.Minute}, enginetest.Script{Sold: []string{"a"}})
	from := patient(20 * time.Minute)
	from[0].Wait = 3 * time.Hour
	r, err := m.rent(context.Background(), nil, from...)
	if err != nil || r.Provider != "cloud" || m.cloud.Calls(enginetest.OpOffers) != 1 {
		t.Errorf("%+v, %v, %d questions", r, err, m.cloud.Calls(enginetest.OpOffers))
	}
}

// The choices of one provider share its time: a further kind of GPU gets some of it.
func TestMaxWaitIsThatOfAProvider(t *testing.T) {
	m := newMarket(t, enginetest.Script{Queue: 24 * time.Hour}, enginetest.Script{})
	from := patient(20 * time.Minute)
	second := from[0]
	second.GPU = "L4"
	began := m.clock.Now()
	r, err := m.rent(context.Background(), nil, from[0], second, from[1])
	if err != nil || r.Provider != "other" {
		t.Fatalf("%+v, %v", r, err)
	}
	got := m.text(machine.EventChoice)
	if waited := m.clock.Now().Sub(began); waited < 20*time.Minute || waited > 21*time.Minute || !strings.Contains(got, "within 5m0s; trying cloud 2 × L4") {
		t.Errorf("it took %s, and the user saw %q", waited, got)
	}
}

// The time in a queue is not that of the boot, and with [sdk.FeatureQueue] not the machine's.
func TestTimeInAQueue(t *testing.T) {
	script := enginetest.Script{Queue: 5 * time.Hour, Boot: 20 * time.Minute}
	for name, queues := range map[string]bool{"counts": false, "does not count": true} {
		m := newMarket(t, script, enginetest.Script{})
		c := patient(10 * time.Hour)[0]
		c.Queues, c.Spec.TimeoutSeconds = queues, 7200
		began := m.clock.Now()
		r, err := m.rent(context.Background(), nil, c)
		if !queues {
			if err == nil || !strings.Contains(err.Error(), "the machine's time was over") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if spec := m.cloud.Live()[0].Spec; spec.EndUnix != 0 || spec.TimeoutSeconds != 7200 {
			t.Errorf("it was asked for %+v", spec)
		}
		if left := r.HardEnd.Sub(began); left < 7*time.Hour || left > 7*time.Hour+time.Minute {
			t.Errorf("it ends %s after it was asked for", left)
		}
	}
}
