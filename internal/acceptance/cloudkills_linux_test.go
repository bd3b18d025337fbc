package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/sdk"
)

// trouble is how a cloud behaves while starts on it are killed.
type trouble struct {
	name   string
	set    []string      // further fields of the experiment
	within time.Duration // the kill comes so long after something was rented
	modal  fakemodal.Faults
	runpod fakerunpod.Fault
}

// What is known of clouds: a list that is 2.5 s behind, creations of 25 s, lost answers, and
// pods that appear 30 s after their request was refused.
const lateList = 2500 * time.Millisecond

func modalTroubles() []trouble {
	slow := 25 * time.Second
	lost := []fakemodal.CallFault{{Method: "SandboxCreate*", Cut: true, AfterEffect: true}}
	return []trouble{
		{name: "late list", within: time.Second},
		{name: "slow creation", within: 20 * time.Second, modal: fakemodal.Faults{StartDelay: slow}},
		{name: "slow creation that is dropped", within: 20 * time.Second, modal: fakemodal.Faults{StartDelay: slow, DropsLeft: true}},
		{name: "lost answer", within: 5 * time.Second, modal: fakemodal.Faults{Calls: lost}},
		{name: "slow creation with a GPU", set: []string{"sandbox.gpu=L4"}, within: 20 * time.Second, modal: fakemodal.Faults{StartDelay: slow}},
	}
}

func runpodTroubles() []trouble {
	post := fakerunpod.Fault{Method: http.MethodPost, Path: "/v2/pods"}
	with := func(change func(*fakerunpod.Fault)) fakerunpod.Fault {
		f := post
		change(&f)
		return f
	}
	return []trouble{
		{name: "late list", within: time.Second, runpod: with(func(f *fakerunpod.Fault) { f.Latency = time.Millisecond })},
		{name: "slow creation", within: 20 * time.Second, runpod: with(func(f *fakerunpod.Fault) { f.Latency = 25 * time.Second })},
		{name: "lost answer", within: 5 * time.Second, runpod: with(func(f *fakerunpod.Fault) { f.Drop, f.After = true, true })},
		{name: "late pod", within: 20 * time.Second, runpod: with(func(f *fakerunpod.Fault) { f.Status, f.After, f.Later = 500, true, 30*time.Second })},
		{name: "slow answer", within: 10 * time.Second, runpod: with(func(f *fakerunpod.Fault) { f.Status, f.After, f.Later = 503, true, 5*time.Second })},
	}
}

// TestKilledUpOnACloud kills seer up after something was rented: 30 times, or 300 with
// SEER_SOAK. One gc and a minute later nothing lives that nobody knows, and no start ever had
// two machines. A soak that is broken off goes on where it was, with SEER_SOAK_DIR.
func TestKilledUpOnACloud(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // they mostly wait, so all of them at once
	defer all.Wait()
	for cloud, troubles := range map[string][]trouble{"modal": modalTroubles(), "runpod": runpodTroubles()} {
		for _, what := range troubles {
			all.Go(func() {
				t.Run(cloud+"/"+what.name, func(t *testing.T) { what.kills(t, cloud) })
			})
		}
	}
}

func (what trouble) kills(t *testing.T, cloud string) {
	c := what.open(t, cloud)
	progress := newProgress(t, cloud+"-"+what.name, 3, 30)
	for progress.done < progress.wanted {
		if c.killUp(t, what) {
			progress.add(t)
		}
	}
}

func (what trouble) open(t *testing.T, name string) *cloud {
	t.Helper()
	if name == "modal" {
		c := openModal(t)
		what.modal.ListDelay = lateList
		if err := c.modal.SetFaults(what.modal); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := openRunPod(t)
	c.runpod.SetBehaviour(fakerunpod.Behaviour{ListDelay: lateList})
	c.runpod.Inject(what.runpod)
	return c
}

// rented counts what was asked for so far, whatever has come of it.
func (c *cloud) rented() int {
	if c.modal != nil {
		return len(c.modal.Machines())
	}
	return c.runpod.Requests()["POST /v2/pods"]
}

// machines are the handles of those that cost money now, by key.
func (c *cloud) machines() map[string][]string {
	all := map[string][]string{}
	if c.modal != nil {
		for _, m := range c.modal.Machines() {
			if m.State == fakemodal.Queued || m.State == fakemodal.Running {
				all[m.Tags["seer-key"]] = append(all[m.Tags["seer-key"]], m.ID)
			}
		}
		return all
	}
	for _, p := range c.runpod.Live() {
		key, _, _ := strings.Cut(p.Name, ".")
		all[key] = append(all[key], p.ID)
	}
	return all
}

// killUp is one kill. It is false where the start had come to its end before.
func (c *cloud) killUp(t *testing.T, what trouble) bool {
	t.Helper()
	p := c.at(t)
	p.write("exp.yaml", fmt.Sprintf("name: test\nsandbox: {provider: %s, timeout: 10m}\n", c.name))
	args := []string{"up", "exp.yaml"}
	for _, s := range what.set {
		args = append(args, "--set", s)
	}
	watched := c.watch()
	before := c.rented()
	j := p.seer(args...)
	p.eventually("something is rented", func() bool { return c.rented() > before || j.over() })
	after := rand.N(what.within)
	killed, r := j.killAfter(after)
	if !killed && r.code == 0 {
		watched(t)
		p.ok("down", "--all")
		return false
	}
	p.ok("gc")
	atOnce := c.unknown(t, p)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	watched(t)
	if left := c.unknown(t, p); len(left) != 0 {
		t.Errorf("killed %v after it was rented: %v live a minute after gc, at once %v; %s", after, left, atOnce, clip(r.err))
	}
	p.ok("down", "--all") // a start that had come far enough has a lease, and gc leaves it that
	return true
}

// unknown are the machines of a place that are not those of its live sandboxes.
func (c *cloud) unknown(t *testing.T, p *place) (left []string) {
	t.Helper()
	files, _ := filepath.Glob(p.state("sandboxes", "sb-*.json"))
	alive := c.machines()
	for _, file := range files {
		var r struct {
			Key, Handle string
			State       sdk.State
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, handle := range alive[r.Key] {
			if !r.State.Live() || handle != r.Handle {
				left = append(left, handle)
			}
		}
	}
	return left
}

// watch looks, until it is called, for two machines of one start.
func (c *cloud) watch() (end func(t *testing.T)) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	var twins atomic.Pointer[[]string]
	go func() {
		defer close(stopped)
		for {
			for _, handles := range c.machines() {
				if len(handles) > 1 {
					twins.Store(&handles)
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func(t *testing.T) {
		t.Helper()
		close(stop)
		<-stopped
		if found := twins.Load(); found != nil {
			t.Errorf("one start had two machines: %v", *found)
		}
	}
}

// progress is how many kills of one kind there have been. A soak wants more of them, and keeps
// their number in a file.
type progress struct {
	done, wanted int
	file         string
}

func newProgress(t *testing.T, name string, wanted, soak int) *progress {
	t.Helper()
	p := &progress{wanted: wanted}
	if !soaking() {
		return p
	}
	p.wanted = soak
	if dir := os.Getenv("SEER_SOAK_DIR"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p.file = filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		data, _ := os.ReadFile(p.file)
		p.done = bytes.Count(data, []byte("\n"))
	}
	return p
}

// add counts a kill. One that went wrong is not kept: the next soak tries it again.
func (p *progress) add(t *testing.T) {
	t.Helper()
	p.done++
	t.Logf("kill %d of %d", p.done, p.wanted)
	if p.file == "" || t.Failed() {
		return
	}
	f, err := os.OpenFile(p.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\n", time.Now().UTC().Format(time.RFC3339))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
