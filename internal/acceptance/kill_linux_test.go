package acceptance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// roles of the processes of a sandbox, by what is on their command lines.
var roles = map[string]string{
	"bwrap":   "bwrap",
	"loader":  "seer-loader",
	"runtime": "seer-runtime-",
	"worker":  "seer_worker_main.py",
}

// machine finds the processes of the sandbox with the name, or of the experiment
// file, by role.
func (p *place) machine(name string) map[string][]process {
	found := map[string][]process{}
	key := p.key(name)
	if key == "" {
		return found
	}
	for _, one := range p.processes() {
		if one.machine != key {
			continue
		}
		for _, role := range []string{"worker", "bwrap", "loader", "runtime"} { // the first that fits
			if strings.Contains(one.args, roles[role]) {
				found[role] = append(found[role], one)
				break
			}
		}
	}
	return found
}

// key is how the processes of a sandbox are told, from its record.
func (p *place) key(name string) string {
	files, _ := filepath.Glob(p.state("sandboxes", "sb-*.json"))
	for _, file := range files {
		var record struct {
			Name, Key, State string
			File             string `json:"experiment_file"`
		}
		data, _ := os.ReadFile(file)
		ours := json.Unmarshal(data, &record) == nil && (record.Name == name || filepath.Base(record.File) == name)
		if ours && record.State != "stopped" && record.State != "failed" {
			return record.Key
		}
	}
	return ""
}

func kill(list []process) bool {
	for _, one := range list {
		_ = syscall.Kill(one.pid, syscall.SIGKILL)
	}
	return len(list) > 0
}

// TestKilledParts: what a user sees when one part of a sandbox is killed.
func TestKilledParts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	p.write("tools.py", "@expose\ndef f():\n    print('called')\n    return 1\n\n@expose\ndef slow():\n    import time\n    open('/workspace/slow', 'w').close()\n    time.sleep(600)\n")
	p.ok("serve", "lab", "tools.py", "--out", "out")

	// The worker: its call is told so, and the next one is answered.
	j := p.seer("call", "lab", "tools.slow")
	p.eventually("the call runs", func() bool { return p.seer("exec", "lab", "--", "test", "-e", "slow").wait().code == 0 })
	kill(p.machine("lab")["worker"])
	p.check(j.wait(), 9, "may have had effects")
	p.ok("call", "lab", "tools.f")

	// The runtime: it comes back with its services.
	before := p.machine("lab")["runtime"]
	kill(before)
	p.eventually("another runtime", func() bool {
		now := p.machine("lab")["runtime"]
		return len(now) == 1 && now[0].pid != before[0].pid
	})
	p.ok("exec", "lab", "--", "true")
	p.ok("call", "lab", "tools.f")

	// bwrap only waits; the sandbox goes on.
	kill(p.machine("lab")["bwrap"][:1])
	p.ok("exec", "lab", "--", "true")

	// The loader is the sandbox: everything ends, and those who wait for it are told.
	p.write("endless.py", "while True: pass\n")
	logs := p.seer("logs", "lab", "-f")
	waiting := []*job{
		logs,
		p.seer("exec", "lab", "--", "sh", "-c", "touch waiting; sleep 600"),
		p.seer("serve", "lab", "endless.py", "--out", "out"),
	}
	p.eventually("they wait", func() bool {
		return strings.Contains(logs.said(), "called") && len(p.workers()) == 2 && p.seer("exec", "lab", "--", "test", "-e", "waiting").wait().code == 0
	})
	kill(p.machine("lab")["loader"])
	now := time.Now()
	for _, j := range waiting {
		if r := j.wait(); r.code != 6 && r.code != 125 {
			t.Errorf("%s ended with %d: %s", r.line, r.code, r.err)
		}
	}
	if took := time.Since(now); took > time.Minute { // who is not told gives up after two
		t.Errorf("it took them %v", took)
	}
	p.nothingRuns()
	if all := p.ls(); len(all) != 0 {
		t.Errorf("ls tells of %+v", all)
	}
	if all := p.ls("--all"); len(all) != 1 || all[0].State != "failed" {
		t.Errorf("ls --all tells of %+v", all)
	}
	p.exits(4, []string{"call", "lab", "tools.f"}, "has ended")
	p.exits(125, []string{"exec", "lab", "--", "true"}, "has ended")
	p.ok("gc")
	p.nothingLies()
	p.up("lab") // the name is free
}

// chaos kills at random moments.
type chaos struct {
	*place
	mu      sync.Mutex
	reports []string
}

// TestKilledAtRandom: whatever is killed whenever, everything ends with its lease,
// the commands end with a code that is documented, and ls and gc tell the truth.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("SEER_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("SEER_TEST_SEED=%d", seed)
	p := newPlace(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 12s}\n")
	p.write("run.yaml", "name: test\nsandbox: {timeout: 12s}\nserve: [{file: tools.py}]\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")
	p.write("tools.py", "import time\n\n@expose\ndef slow():\n    time.sleep(0.2)\n    return 1\n")
	p.write("agent.py", "import os, tools\ntools.slow()\nopen('outputs/done', 'w').close()\n")
	c := &chaos{place: p}
	const rounds, lanes = 9, 4
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			random := rand.New(rand.NewPCG(seed, uint64(lane)))
			for round := range rounds {
				c.round(random, fmt.Sprintf("l%d-%d", lane, round))
			}
		}()
	}
	wg.Wait()
	t.Log(strings.Join(c.reports, "\n"))
	if c.Failed() {
		return
	}

	// The leases end everything, without anybody's help.
	p.nothingRuns()
	p.age()
	p.ok("gc")
	if left := p.ls(); len(left) != 0 {
		t.Errorf("ls tells of %+v", left)
	}
	for _, one := range p.ls("--all") {
		if one.State != "stopped" && one.State != "failed" {
			t.Errorf("ls --all tells of %+v", one)
		}
	}
	p.nothingLies()
	if out := p.ok("gc"); out != "" {
		t.Errorf("a second gc finds more: %s", out)
	}
}

func (c *chaos) Failed() bool { return c.t.Failed() }

// round starts a command and kills one of those who take part in it, once.
func (c *chaos) round(random *rand.Rand, name string) {
	c.write("run "+name, c.read("run.yaml")) // `seer run` gives no name
	commands := map[string][]string{
		"up":    {"up", "exp.yaml", "--name", name, "-q"},
		"serve": {"serve", name, "tools.py", "--out", "out " + name, "-q"},
		"call":  {"call", name, "tools.slow"},
		"run":   {"run", "run " + name, "-q", "--set", "workspace.dir=ws " + name, "--set", "outputs=out " + name},
	}
	kinds := []string{"up", "serve", "call", "run"}
	victims := []string{"seer", "seer", "bwrap", "loader", "runtime", "worker"}
	kind, victim := kinds[random.IntN(len(kinds))], victims[random.IntN(len(victims))]
	moment := time.Duration(random.IntN(int(500 * time.Millisecond)))
	if kind == "serve" || kind == "call" {
		c.seer(commands["up"]...).wait()
	}
	if kind == "call" {
		c.seer(commands["serve"]...).wait()
	}
	who := name
	if kind == "run" {
		who = "run " + name
	}
	j := c.seer(commands[kind]...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(moment) // a moment, not a wait for something
		defer timer.Stop()
		<-timer.C
		if victim == "seer" {
			_ = j.cmd.Process.Kill()
			return
		}
		for !j.over() && !kill(c.machine(who)[victim]) {
			time.Sleep(2 * time.Millisecond)
		}
	}()
	r := j.wait()
	<-ended
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, fmt.Sprintf("%s: %s, %s killed after %v: %d %s", name, kind, victim, moment.Round(time.Millisecond), r.code, strings.TrimSpace(r.err)))
	if allowed := []int{0, 4, 6, 7, 9, 11, 137}; !slices.Contains(allowed, r.code) {
		c.t.Errorf("%s\nended with %d, %s killed after %v: %s", r.line, r.code, victim, moment, r.err)
	}
}
