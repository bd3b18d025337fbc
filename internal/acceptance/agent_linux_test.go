package acceptance

import (
	"fmt"
	"path/filepath"
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

func deafPlace(t *testing.T, isolation string, timeout time.Duration) (*place, *job) {
	p := newPlace(t)
	p.write("deaf.py", deaf)
	p.write("run.yaml", fmt.Sprintf("name: test\nsandbox: {timeout: %v}\nworkspace: {files: [deaf.py]}\n"+
		"agent: {command: [python3, deaf.py], isolation: %s, network: %s}\n", timeout, isolation, map[string]string{"auto": "none", "none": "open"}[isolation]))
	j := p.seer("run", "run.yaml")
	p.eventually("the agent works", func() bool { return p.has("workspace/outputs/so far") || j.over() })
	return p, j
}

func (p *place) agents() int { return len(p.matching("deaf.py")) + len(p.matching("runaway")) }

// TestAgentThatIgnoresEverything is asked to end after one Ctrl-C, and then killed
// with all it started. Its results are kept.
func TestAgentThatIgnoresEverything(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"auto", "none"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			p, j := deafPlace(t, isolation, 10*time.Minute)
			j.signal(syscall.SIGINT)
			p.check(j.wait(), 130, "stopping")
			if p.read("runs/latest/outputs/so far") != "something" {
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

// stopping is a way to stop a run at once, and how the run then ends.
type stopping struct {
	stop func(*place, *job)
	code int
	said string
}

// stopped gives a run more time where the computer was too slow: after its lease, and after
// the grace of one Ctrl-C, there may be nobody left whom a signal ends.
func (s stopping) stopped(t *testing.T) (*place, result) {
	t.Helper()
	for timeout := 25 * time.Second; ; timeout *= 3 {
		began := time.Now()
		p, j := deafPlace(t, "auto", timeout)
		s.stop(p, j)
		r := j.wait()
		late := time.Since(began) > 10*time.Second && (r.code != s.code || !strings.Contains(r.err, s.said))
		if !late || timeout > 5*time.Minute {
			return p, r
		}
	}
}

// TestTwiceStopsNow: with the second Ctrl-C, or kill -9, the agent ends at once and
// the sandbox with its lease, without anybody's help.
func TestTwiceStopsNow(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]stopping{
		"Ctrl-C twice": {code: 130, said: "stopped at once", stop: func(p *place, j *job) {
			j.signal(syscall.SIGINT)
			p.eventually("the first one is heard", func() bool { return strings.Contains(j.said(), "stopping") || j.over() })
			time.Sleep(300 * time.Millisecond) // what comes within a tenth of a second is the same signal
			j.signal(syscall.SIGINT)
		}},
		"kill -9": {code: 137, stop: func(_ *place, j *job) { j.signal(syscall.SIGKILL) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := how.stopped(t)
			p.check(r, how.code, how.said)
			p.eventually("the end of the agent", func() bool { return p.agents() == 0 })
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
	for _, pattern := range []string{"runs/*/outputs/started", "results of the second/started"} {
		if files, _ := filepath.Glob(p.path(pattern)); len(files) == 0 {
			t.Errorf("%s is missing", pattern)
		}
	}
}
