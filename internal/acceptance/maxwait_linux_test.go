package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

// two are clouds of which the first, Modal, queues every sandbox and has no machine for it.
type two struct {
	first, second *cloud
	p             *place
}

func openTwo(t *testing.T) *two {
	t.Helper()
	c := &two{first: openModal(t), second: openRunPod(t)}
	if err := c.first.modal.SetFaults(fakemodal.Faults{NoCapacity: []string{"*"}, ListDelay: lateList}); err != nil {
		t.Fatal(err)
	}
	c.second.runpod.SetBehaviour(fakerunpod.Behaviour{ListDelay: lateList})
	c.p = c.first.at(t)
	maps.Copy(c.p.env, c.second.env)
	c.p.env["MODAL_SANDBOX_V2"] = "false" // the other back end has no queue
	c.p.write("exp.yaml", "name: test\nsandbox: {provider: [modal, runpod], max_wait: 2s, timeout: 10m}\n")
	return c
}

// machines are those of both that somebody may have to pay, or that wait in a queue.
func (c *two) machines() (all []string) {
	for _, one := range []*cloud{c.first, c.second} {
		for _, handles := range one.machines() {
			all = append(all, handles...)
		}
	}
	return all
}

// TestMaxWait: the second cloud gets what the first lets wait, and nothing is left at the first.
func TestMaxWait(t *testing.T) {
	t.Parallel()
	c := openTwo(t)
	var plan struct {
		MaxWait float64 `json:"max_wait_seconds"`
		Choices []struct{ Provider string }
	}
	if err := json.Unmarshal([]byte(c.p.ok("plan", "exp.yaml", "--json")), &plan); err != nil || plan.MaxWait != 2 || len(plan.Choices) < 2 || plan.Choices[0].Provider != "modal" {
		t.Errorf("%+v, %v", plan, err)
	}
	r := c.p.seer("up", "exp.yaml", "--name", "lab").wait()
	c.p.check(r, 0, "nothing was free within 2s", "trying runpod")
	if first, second := c.first.alive(), c.second.alive(); len(first) != 0 || len(second) != 1 {
		t.Errorf("Modal has %v, and RunPod %v", first, second)
	}
	if got := c.p.ok("exec", "lab", "--", "echo", "it works"); got != "it works" {
		t.Errorf("exec: %q", got)
	}
	c.p.ok("down", "lab")
	c.second.nothingLives(t)

	// The flag is stronger than the file, and the last provider is not waited for without end.
	c.second.runpod.SetBehaviour(fakerunpod.Behaviour{NoCapacity: true})
	began := time.Now()
	r = c.p.seer("up", "exp.yaml", "--max-wait", "4s").wait()
	if r.code == 0 || !strings.Contains(r.err, "modal: nothing was free within 4s") || time.Since(began) < 4*time.Second {
		t.Errorf("it ended with %d after %s: %s", r.code, time.Since(began), clip(r.err))
	}
	if left := c.machines(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestKilledWhileItWaits kills seer up while it waits at the first cloud, takes the request back
// or turns to the second one. Never has one start two machines, and after gc nothing lives that
// nobody knows.
func TestKilledWhileItWaits(t *testing.T) {
	t.Parallel()
	c := openTwo(t)
	progress := newProgress(t, "max-wait", 3, 60)
	for progress.done < progress.wanted {
		if c.killUp(t) {
			progress.add(t)
		}
	}
}

// killUp is one kill. It is false where the start had come to its end before.
func (c *two) killUp(t *testing.T) bool {
	t.Helper()
	before := c.first.rented()
	watched := c.watch()
	j := c.p.seer("up", "exp.yaml")
	c.p.eventually("something is in the queue", func() bool { return c.first.rented() > before || j.over() })
	after := rand.N(5 * time.Second)
	killed, r := j.killAfter(after)
	if twins := watched(); twins != "" {
		t.Errorf("killed %v after it was queued: %s", after, twins)
	}
	if !killed && r.code == 0 {
		c.p.ok("down", "--all")
		return false
	}
	testkit.Eventually(t, "what was appearing to be ended", func() bool {
		c.p.ok("gc")
		return len(c.first.unknown(t, c.p)) == 0 && len(c.second.unknown(t, c.p)) == 0
	})
	c.p.ok("down", "--all") // a start that had come far enough has a lease, and gc leaves it that
	if left := c.machines(); len(left) != 0 {
		t.Errorf("killed %v after it was queued: left %v; %s", after, left, clip(r.err))
	}
	return true
}

// watch looks, until it is called, for two machines at the same time.
func (c *two) watch() (end func() string) {
	stop, found := make(chan struct{}), make(chan string)
	go func() {
		twins := ""
		for {
			if first, second := c.first.machines(), c.second.machines(); len(first)+len(second) > 1 {
				twins = fmt.Sprintf("one start had two machines: %v and %v", first, second)
			}
			select {
			case <-stop:
				found <- twins
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() string {
		close(stop)
		return <-found
	}
}
