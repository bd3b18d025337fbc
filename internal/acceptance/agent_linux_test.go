package acceptance

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deaf is an agent that does not want to end, with a child that has left it.
const deaf = `
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)", "runaway"],
                 start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("outputs/so far", "w").write("something")
while True:
    time.sleep(1)
`

func deafPlace(t *testing.T, isolation string) (*place, *job) {
	p := newPlace(t)
	p.write("deaf.py", deaf)
	p.write("run.yaml", fmt.Sprintf("name: test\nsandbox: {timeout: 25s}\nworkspace: {files: [deaf.py]}\n"+
		"agent: {command: [python3, deaf.py], isolation: %s, network: %s}\n", isolation, map[string]string{"auto": "none", "none": "open"}[isolation]))
	j := p.seer("run", "run.yaml")
	p.eventually("the agent works", func() bool { return p.has("workspace/outputs/so far") })
	return p, j
}

func (p *place) agents() int { return len(p.matching("deaf.py")) + len(p.matching("runaway")) }

// TestAgentThatIgnoresEverything is asked to end after one Ctrl-C, and then killed
// with all it started. Its results are kept.
func TestAgentThatIgnoresEverything(t *testing.T) {
	for _, isolation := range []string{"auto", "none"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			p, j := deafPlace(t, isolation)
			j.signal(syscall.SIGINT)
			p.check(j.wait(), 130, "stopping")
			if p.read("outputs/so far") != "something" {
				t.Error("the results are lost")
			}
			if n := p.agents(); n > 0 {
				t.Errorf("%d processes of the agent are left", n)
			}
			if left := p.ls(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			p.nothingRuns()
			p.nothingLies()
		})
	}
}

// TestTwiceStopsNow: with the second Ctrl-C, or kill -9, the agent ends at once and
// the sandbox with its lease, without anybody's help.
func TestTwiceStopsNow(t *testing.T) {
	for name, stop := range map[string]func(*place, *job){
		"Ctrl-C twice": func(p *place, j *job) {
			j.signal(syscall.SIGINT)
			p.eventually("the first one is heard", func() bool { return strings.Contains(j.said(), "stopping") })
			time.Sleep(300 * time.Millisecond) // what comes within a tenth of a second is the same signal
			j.signal(syscall.SIGINT)
			p.check(j.wait(), 130, "stopped at once")
		},
		"kill -9": func(p *place, j *job) {
			j.signal(syscall.SIGKILL)
			p.check(j.wait(), 137)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, j := deafPlace(t, "auto")
			stop(p, j)
			now := time.Now()
			p.eventually("the end of the agent", func() bool { return p.agents() == 0 })
			if took := time.Since(now); took > 5*time.Second {
				t.Errorf("the agent lived on for %v", took)
			}
			p.nothingRuns() // the lease
			if left := p.ls(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			p.age()
			p.ok("gc")
			p.nothingLies()
			if !p.has("workspace/outputs/so far") {
				t.Error("what the agent had written is lost")
			}
		})
	}
}

// TestRunsSideBySide: a workspace is for one run at a time, which is said before
// anything starts; with folders of its own a second run is fine.
func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("agent.py", "import os, time\nopen('outputs/started', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)\n")
	p.write("run.yaml", "name: test\nsandbox: {timeout: 10m}\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")
	first := p.seer("run", "run.yaml", "-q")
	p.eventually("the first one works", func() bool { return p.has("workspace/outputs/started") })
	p.exits(12, []string{"run", "run.yaml"}, "another run", "--set workspace.dir")
	if n := len(p.ls()); n != 1 {
		t.Errorf("%d sandboxes", n)
	}
	second := p.seer("run", "run.yaml", "-q", "--set", "workspace.dir=second", "--set", "outputs=results of the second")
	p.eventually("the second one works", func() bool { return p.has("second/outputs/started") })
	p.write("second/go", "")
	p.check(second.wait(), 0)
	if first.over() {
		t.Error("the first run has ended with the second")
	}
	p.write("workspace/go", "")
	p.check(first.wait(), 0)
	for _, file := range []string{"outputs/started", "results of the second/started"} {
		if !p.has(file) {
			t.Errorf("%s is missing", file)
		}
	}
}
