package acceptance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

// cloud is a fake of one, as the tests of the program need it.
type cloud struct {
	name  string
	env   map[string]string
	alive func() map[string]string // machines that nobody has ended: key → handle

	rotated map[string]string // another credential of the account, and other settings

	modal  *fakemodal.Cloud
	runpod *fakerunpod.Cloud

	mu   sync.Mutex
	call func(n int) // is told of the n-th request: at RunPod before it has its effect, at Modal after it
	n    int
}

func (c *cloud) called() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.call != nil {
		c.call(c.n)
	}
}

// onCall counts requests anew. A nil function only counts.
func (c *cloud) onCall(f func(n int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.call, c.n = f, 0
}

func (c *cloud) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// nothingLives fails if the cloud has a machine, or a command lists one of these sandboxes.
func (c *cloud) nothingLives(t *testing.T, listed ...sandbox) {
	t.Helper()
	if alive := c.alive(); len(alive) != 0 || len(listed) != 0 {
		t.Errorf("left: %v %v", alive, listed)
	}
}

// eachCloud runs a test on both.
func eachCloud(t *testing.T, test func(t *testing.T, c *cloud)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *cloud{"modal": openModal, "runpod": openRunPod} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func openModal(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{name: "modal", rotated: map[string]string{
		"MODAL_TOKEN_ID": "ak-new", "MODAL_TOKEN_SECRET": "as-new", "SEER_MODAL_SNAPSHOT_DAYS": "7", "MODAL_SANDBOX_V2": "false",
	}}
	rotated := []fakemodal.Token{{ID: "ak-new", Secret: "as-new"}}
	c.modal = fakemodal.New(fakemodal.Options{Dir: t.TempDir(), Rotated: rotated, Logf: func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); line[0] >= 'A' && line[0] <= 'Z' { // a call, not a change
			c.called()
		}
	}})
	if err := c.modal.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.modal.Close() })
	c.env = c.modal.Env()
	c.alive = func() map[string]string {
		alive := map[string]string{}
		for _, m := range c.modal.Machines() {
			if m.State == fakemodal.Queued || m.State == fakemodal.Running {
				alive[m.Tags["seer-key"]] = m.ID
			}
		}
		return alive
	}
	return c
}

func openRunPod(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{name: "runpod", rotated: map[string]string{"RUNPOD_API_KEY": "rpa_the-new-key"}}
	var err error
	c.runpod, err = fakerunpod.New(fakerunpod.Options{Dir: t.TempDir(), Limits: []fakerunpod.Window{}, ProxyCut: 3 * time.Second,
		Keys: []string{"rpa_the-first-key", "rpa_the-new-key"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.runpod.Close)
	to, err := url.Parse(c.runpod.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.called()
		// The request goes on when whoever made it has been killed.
		proxy.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	}))
	t.Cleanup(front.Close)
	c.env = maps.Clone(c.runpod.Env())
	c.env["RUNPOD_API_BASE_URL"] = front.URL
	c.alive = func() map[string]string {
		alive := map[string]string{}
		for _, p := range c.runpod.Pods() {
			if p.Live() {
				key, _, _ := strings.Cut(p.Name, ".")
				alive[key] = p.ID
			}
		}
		return alive
	}
	return c
}

// at is a place whose user has an account at the cloud.
func (c *cloud) at(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	maps.Copy(p.env, c.env)
	p.write("tools.py", "@expose\ndef double(x: int) -> int:\n    return 2 * x\n")
	p.write("agent.py", "import model_tools, pathlib\npathlib.Path('outputs').mkdir(exist_ok=True)\npathlib.Path('outputs/result').write_text(str(model_tools.double(21)))\n")
	p.write("exp.yaml", fmt.Sprintf(`name: test
sandbox: {provider: %s, timeout: 10m, models: ['./tiny model'], secrets: [MY_SECRET]}
serve: [{file: tools.py, name: model_tools}]
workspace: {files: [agent.py]}
agent: {command: [python3, agent.py]}
`, c.name))
	p.write("tiny model/weights.txt", "1 2 3\n")
	p.env["MY_SECRET"] = "the-user-s-own-secret"
	return p
}

func TestRunOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		r := p.exits(0, []string{"run", "exp.yaml"})
		if got := p.read("runs/latest/outputs/result"); got != "42" {
			t.Errorf("the agent wrote %q", got)
		}
		for name, secret := range c.env {
			if strings.Contains(r.out+r.err, secret) && !strings.HasPrefix(secret, "http") {
				t.Errorf("%s is in the output", name)
			}
		}
		c.nothingLives(t)
	})
}

// TestByHandOnACloud is a sandbox that stays, found again by another process.
func TestByHandOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("up", "exp.yaml", "--name", "lab", "-q")
		if got := p.ok("exec", "lab", "--", "sh", "-c", "cat; exit 0"); got != "" {
			t.Errorf("exec: %q", got)
		}
		p.write("blob", strings.Repeat("0123456789abcdef", 1<<18))
		p.ok("cp", "blob", "lab:/workspace/blob")
		p.ok("cp", "lab:/workspace/blob", "back")
		if p.read("back") != p.read("blob") {
			t.Error("4 MB came back changed")
		}
		p.ok("serve", "lab", "tools.py", "--name", "model_tools", "--out", "lib")
		if got := p.ok("call", "lab", "model_tools.double", "x=4"); got != "8" {
			t.Errorf("call: %s", got)
		}
		cmd := p.command("/usr/bin/python3", "-c", "import model_tools; print(model_tools.double(5))")
		cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("lib"), "PYTHONDONTWRITEBYTECODE=1")
		p.check(p.start(cmd).wait(), 0, "10")
		p.exits(0, []string{"ls"}, "lab", c.name, "/h)")
		p.exits(0, []string{"show", "lab"}, "an hour")
		p.ok("down", "lab")
		c.nothingLives(t)
	})
}

func TestBadInputOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		refused := func(code int, set []string, words ...string) {
			t.Helper()
			args := []string{"up", "exp.yaml"}
			for _, s := range set {
				args = append(args, "--set", s)
			}
			p.exits(code, args, words...)
			if len(c.alive()) != 0 {
				t.Fatalf("%v rented %v", set, c.alive())
			}
		}
		refused(3, []string{"sandbox.gpu=GTX-480"}, "GTX-480")
		refused(3, []string{"sandbox.region=atlantis"}, "atlantis")
		refused(3, []string{"sandbox.gpu=H100", "sandbox.max_price=0.01"}, "0.01")
		refused(3, []string{"sandbox.gpu=H100", "sandbox.budget=0.001"}, "budget")
		refused(3, []string{"sandbox.provider_options." + c.name + ".nonsense=1"}, "nonsense")
		refused(3, []string{"sandbox.python_packages=[no-such-package-at-all]"}, "no-such-package-at-all")
		refused(3, []string{"sandbox.image.base=registry.invalid/no-such-image:1"}, "no-such-image")

		for _, name := range []string{"MODAL_TOKEN_SECRET", "RUNPOD_API_KEY"} {
			if _, ok := c.env[name]; !ok {
				continue
			}
			good := p.env[name]
			p.env[name] = "wrong-credential"
			r := p.exits(10, []string{"up", "exp.yaml"})
			if strings.Contains(r.err, "wrong-credential") {
				t.Errorf("the credential is shown: %s", r.err)
			}
			delete(p.env, name)
			p.exits(10, []string{"up", "exp.yaml"}, name)
			p.env[name] = good
		}
	})
}

// TestCapacityIsGoneOnACloud: the next choice is taken, and the reasons are told.
func TestCapacityIsGoneOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		if c.modal != nil {
			if err := c.modal.SetFaults(fakemodal.Faults{Exhausted: "Insufficient capacity to create sandbox."}); err != nil {
				t.Fatal(err)
			}
		} else {
			// The catalogue still has them.
			c.runpod.Inject(fakerunpod.Fault{Method: http.MethodPost, Path: "/v2/pods", Status: http.StatusBadRequest,
				Detail: "There are no longer any instances available with the requested specifications. Please refresh and try again."})
		}
		p.exits(6, []string{"up", "exp.yaml", "--set", "sandbox.gpu=[H100,L4]"}, "H100", "L4")
		p.exits(0, []string{"run", "exp.yaml", "--set", "sandbox.provider=[" + c.name + ",local]"}, "trying local")
		c.nothingLives(t)
	})
}

// TestCloudIsDownAtTheEnd: what cannot be ended is kept, and tried again.
func TestCloudIsDownAtTheEnd(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("up", "exp.yaml", "--name", "lab", "-q")
		for _, handle := range c.alive() { // it cannot even end itself
			c.freeze(t, handle)
		}
		down, up := c.outage(t)
		down()
		defer up()
		j := p.seer("down", "lab")
		p.eventually("it tries again", func() bool { return strings.Contains(j.said(), "failed in passing") })
		j.signal(syscall.SIGINT)
		p.check(j.wait(), 130)
		if len(p.ls()) != 1 {
			t.Errorf("the sandbox is forgotten: %v", p.ls("--all"))
		}
		up()
		p.ok("gc")
		c.nothingLives(t, p.ls()...)
	})
}

func (c *cloud) freeze(t *testing.T, handle string) {
	t.Helper()
	if c.runpod != nil {
		c.runpod.Freeze(handle)
	} else if err := c.modal.FreezeMachine(handle); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) outage(t *testing.T) (down, up func()) {
	t.Helper()
	if c.runpod != nil {
		return func() { c.runpod.Inject(fakerunpod.Fault{Drop: true}) }, c.runpod.ClearFaults
	}
	set := func(is bool) func() {
		return func() {
			if err := c.modal.SetFaults(fakemodal.Faults{Down: is}); err != nil {
				t.Error(err)
			}
		}
	}
	return set(true), set(false)
}

// TestTwoComputersOneCloud: each sees and ends its own machines only.
func TestTwoComputersOneCloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		a, b := c.at(t), c.at(t)
		a.ok("up", "exp.yaml", "--name", "lab", "-q")
		b.ok("up", "exp.yaml", "--name", "lab", "-q")
		if err := os.RemoveAll(b.state("sandboxes")); err != nil { // it has lost its memory, and so its name
			t.Fatal(err)
		}
		b.ok("gc", "--provider", c.name)
		a.ok("gc", "--provider", c.name)
		if n := len(c.alive()); n != 2 {
			t.Errorf("%d machines live", n)
		}
		a.ok("down", "lab")
		for _, handle := range c.alive() {
			c.end(t, handle)
		}
	})
}

// TestAnotherAccount: the credentials of another account do not make a machine one
// that has ended.
func TestAnotherAccount(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("up", "exp.yaml", "--name", "lab", "-q")
		open := openRunPod
		if c.modal != nil {
			open = openModal
		}
		maps.Copy(p.env, open(t).env)
		for _, handle := range c.alive() { // it cannot end itself when it is asked to
			c.freeze(t, handle)
		}
		p.exits(10, []string{"ls", "--refresh"}, "other credentials", "lab")
		p.exits(10, []string{"down", "lab"}, "other credentials", "seer gc")
		if len(c.alive()) != 1 || len(p.ls()) != 1 {
			t.Errorf("alive: %v, in the ledger: %v", c.alive(), p.ls())
		}
		maps.Copy(p.env, c.env)
		p.ok("down", "lab")
		c.nothingLives(t)
	})
}

// TestRotatedCredentials: a new credential of the account, and settings that do not change
// whose machines are seen, end a machine like the old ones.
func TestRotatedCredentials(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("up", "exp.yaml", "--name", "lab", "-q")
		maps.Copy(p.env, c.rotated)
		p.ok("ls", "--refresh")
		p.ok("down", "lab")
		p.ok("gc")
		c.nothingLives(t, p.ls()...)
	})
}

// TestOverdueMachine: one that could not end itself is ended by any later command.
func TestOverdueMachine(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("up", "exp.yaml", "--name", "lab", "-q")
		for _, handle := range c.alive() {
			c.freeze(t, handle)
		}
		files, _ := filepath.Glob(p.state("sandboxes", "sb-*.json"))
		if len(files) != 1 {
			t.Fatalf("the ledger has %v", files)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		past := regexp.MustCompile(`"hard_end": "[^"]*"`).ReplaceAll(data, []byte(`"hard_end": "2020-01-02T03:04:05Z"`))
		if err := os.WriteFile(files[0], past, 0o600); err != nil {
			t.Fatal(err)
		}
		p.exits(0, []string{"plan", "exp.yaml"}, "overdue", "has been ended")
		c.nothingLives(t, p.ls()...)
	})
}

// TestCancelledWhileItIsRented: a cloud that is slow to rent a machine has not rented
// one that nobody hears of.
func TestCancelledWhileItIsRented(t *testing.T) {
	t.Parallel()
	c := openRunPod(t)
	p := c.at(t)
	c.runpod.Inject(fakerunpod.Fault{Method: http.MethodPost, Path: "/v2/pods", Latency: 2 * time.Second})
	j := p.seer("up", "exp.yaml")
	p.eventually("it is rented", func() bool { return c.runpod.Requests()["POST /v2/pods"] > 0 })
	j.signal(syscall.SIGINT)
	p.check(j.wait(), 130, "ending what was")
	p.eventually("the cloud has answered", func() bool { return len(c.runpod.Pods()) > 0 })
	c.nothingLives(t)
}

// end ends a machine whose owner has lost its ledger.
func (c *cloud) end(t *testing.T, handle string) {
	t.Helper()
	if c.modal != nil {
		if err := c.modal.KillMachine(handle); err != nil {
			t.Error(err)
		}
		return
	}
	c.runpod.Lose(handle)
}

// TestKilledAtEveryStepOnACloud kills, and cancels, the program at each of its
// requests to the cloud. Whatever lives then is in the ledger, and ends by itself.
// SEER_SOAK=1 takes every request, and then a hundred moments by chance; otherwise
// some requests are taken.
func TestKilledAtEveryStepOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.ok("run", "exp.yaml") // also fills the cache of compiled plugins
		c.onCall(nil)
		p.ok("run", "exp.yaml")
		steps := c.calls()
		if steps < 5 {
			t.Fatalf("a run has only %d requests", steps)
		}
		var places []*place
		signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT}
		for _, n := range someOf(steps) {
			for _, s := range signals {
				places = append(places, c.killAt(t, n, s))
			}
		}
		if os.Getenv("SEER_SOAK") != "" {
			for n := range 100 {
				after := rand.N(4 * time.Second)
				places = append(places, c.killed(t, fmt.Sprintf("after %v", after), signals[n%2], func(kill func()) { time.AfterFunc(after, kill) }))
			}
		}
		t.Logf("%d programs were killed or interrupted", len(places))
		// The timeout of each ends it, without anybody's help.
		p.eventually(fmt.Sprintf("%v end by themselves", c.alive()), func() bool { return len(c.alive()) == 0 })
		for _, p := range places {
			p.ok("gc")
			if left := p.ls(); len(left) != 0 {
				t.Errorf("the ledger still has %v", left)
			}
		}
	})
}

// someOf are the steps that are taken: all when soaking, else about six.
func someOf(steps int) []int {
	every := max(1, steps/6)
	if os.Getenv("SEER_SOAK") != "" {
		every = 1
	}
	var some []int
	for n := 1; n <= steps; n += every {
		some = append(some, n)
	}
	return some
}

// killAt sends the signal at the n-th request.
func (c *cloud) killAt(t *testing.T, n int, s syscall.Signal) *place {
	t.Helper()
	defer c.onCall(nil)
	return c.killed(t, fmt.Sprintf("at request %d", n), s, func(kill func()) {
		c.onCall(func(at int) {
			if at == n {
				kill()
			}
		})
	})
}

// killed is a run that gets the signal at a moment.
func (c *cloud) killed(t *testing.T, when string, s syscall.Signal, arrange func(kill func())) *place {
	t.Helper()
	p := c.at(t)
	var j *job
	begun := make(chan struct{})
	arrange(func() {
		<-begun
		_ = j.cmd.Process.Signal(s) // it may be over
	})
	before := c.alive()
	args := []string{"run", "exp.yaml"}
	if s == syscall.SIGKILL { // nobody else ends what is left then
		args = append(args, "--set", "sandbox.timeout=20s")
	}
	j = p.seer(args...)
	close(begun)
	r := j.wait()
	if s == syscall.SIGINT && r.code != 130 && r.code != 0 {
		t.Errorf("interrupted %s it ended with %d: %s", when, r.code, clip(r.err))
	}
	for key, handle := range c.alive() {
		switch _, old := before[key]; {
		case old:
		case s == syscall.SIGINT:
			t.Errorf("interrupted %s it left %s running:\n%s", when, handle, clip(r.err))
		case !p.knows(key):
			t.Errorf("killed %s it left %s, which the ledger does not know", when, handle)
		}
	}
	return p
}

// knows reports whether the ledger has the key of a machine.
func (p *place) knows(key string) bool {
	files, _ := filepath.Glob(p.state("sandboxes", "sb-*.json"))
	return slices.ContainsFunc(files, func(file string) bool {
		data, _ := os.ReadFile(file)
		return strings.Contains(string(data), `"`+key+`"`)
	})
}

// TestMachineIsLostInARunOnACloud: the user is told, and nothing is left to pay.
func TestMachineIsLostInARunOnACloud(t *testing.T) {
	eachCloud(t, func(t *testing.T, c *cloud) {
		p := c.at(t)
		p.write("tools.py", "import time\n\n@expose\ndef double(x: int) -> int:\n    time.sleep(600)\n")
		j := p.seer("run", "exp.yaml")
		p.eventually("the agent runs", func() bool { return strings.Contains(j.said(), "running the agent") })
		for _, handle := range c.alive() {
			c.end(t, handle)
		}
		// A tunnel that hiccups looks the same at first, so this takes a while.
		for end := time.Now().Add(3 * patience); !j.over() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		}
		// Where the tunnel is gone at once, it is the agent that fails first.
		if r := j.wait(); r.code != 6 && !(r.code == 11 && strings.Contains(r.err, "cannot be reached")) {
			t.Errorf("ended with %d: %s", r.code, clip(r.err))
		}
		c.nothingLives(t, p.ls()...)
	})
}
