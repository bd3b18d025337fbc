package acceptance

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// callTools are functions that leave a line in the sandbox for each time they run. ran
// is in the workspace, which is where the worker begins.
const callTools = `
import os, time
import numpy as np

def note(file, text):
    with open(file, "a") as f:
        f.write(text + "\n")

note("loads", "loaded")

@expose
def add(name: str, x: int) -> int:
    note("ran", name)
    return x + 1

@expose(concurrent=8)
def beside(name: str, x: int) -> int:
    note("ran", name)
    time.sleep(0.02)
    return x + 1

@expose
def hold(name: str) -> str:
    note("ran", name)
    print("holding", name, flush=True)
    while not os.path.exists("go"):
        time.sleep(0.02)
    return "held " + name

@expose
def count(name: str, n: int, pause: float = 0.0):
    note("ran", name)
    for i in range(n):
        print("line %d of %s" % (i, name))
        time.sleep(pause)
        yield i

@expose
def array(name: str, n: int):
    note("ran", name)
    return np.arange(n, dtype="int32")
`

// soaking is whether there is time for everything.
func soaking() bool { return os.Getenv("SEER_SOAK") != "" }

// isolations in which calls are tried.
func isolations() []string {
	if soaking() {
		return []string{"none", "bubblewrap"}
	}
	return []string{"bubblewrap"}
}

// serveTools makes the sandbox lab with callTools, and their library in out/tools.
func (p *place) serveTools(isolation string) {
	p.t.Helper()
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 1h, isolation: "+isolation+"}\n")
	p.up("lab")
	p.write("iface.py", callTools)
	p.ok("serve", "lab", "iface.py", "--name", "tools", "--out", "out")
}

// lines of a file of the workspace, and how often each is there.
func (p *place) lines(file string) map[string]int {
	p.t.Helper()
	found := map[string]int{}
	for _, line := range strings.Fields(p.ok("exec", "lab", "--", "sh", "-c", "cat "+file+" || true")) {
		found[line]++
	}
	return found
}

// begun waits until the function has been entered under the name.
func (p *place) begun(name string) {
	p.t.Helper()
	p.eventually(name+" runs", func() bool { return p.lines("ran")[name] > 0 })
}

// once checks that all these have run exactly once.
func (p *place) once(names ...string) {
	p.t.Helper()
	ran := p.lines("ran")
	for _, name := range names {
		if ran[name] != 1 {
			p.t.Errorf("%s ran %d times", name, ran[name])
		}
	}
}

// release lets hold return.
func (p *place) release() {
	p.t.Helper()
	p.ok("exec", "lab", "--", "touch", "go")
}

// library starts a program that has imported the library as tools.
func (p *place) library(program string, args ...string) *job {
	p.t.Helper()
	cmd := p.command(append([]string{"/usr/bin/python3", "-B", "-c", "import sys, tools\n" + program}, args...)...)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("out"))
	return p.start(cmd)
}

// counted is what count prints.
func counted(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "line %d of %s\n", i, name)
	}
	return out.String()
}

// inEach runs a test in each isolation, beside each other.
func inEach(t *testing.T, test func(p *place)) {
	t.Parallel()
	for _, isolation := range isolations() {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.serveTools(isolation)
			test(p)
		})
	}
}
