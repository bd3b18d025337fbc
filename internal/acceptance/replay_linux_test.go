package acceptance

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const replayTools = `
import os, random
from typing import Iterator
import numpy as np

@expose
def draw(seed: int) -> float:
    return random.Random(seed).random() + os.getpid()  # no other worker gives the same

@expose
def matrix(n: int) -> np.ndarray:
    return np.full((n, n), float(os.getpid()), dtype=np.float32)

@expose
def words(n: int) -> Iterator[str]:
    for i in range(n):
        print("word", i)
        yield "word-%d-%d" % (i, os.getpid())

@expose
def fails(why: str):
    raise KeyError(why)
`

const replayAgent = `
import hashlib, os, sys, tools
m = tools.matrix(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
lines = [repr(tools.draw(seed=7)), repr(tools.draw(7)), hashlib.sha256(m.tobytes()).hexdigest(), repr(m.shape), repr(list(tools.words(3)))]
try:
    tools.fails("that")
except KeyError as e:
    lines.append("%s %s" % (type(e).__name__, e))
open(os.environ["SEER_OUTPUTS"] + "/result.txt", "w").write("\n".join(lines))
`

// TestReplay: an agent gets from the record, without the machine, what it got from it.
func TestReplay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("iface.py", replayTools)
	p.write("agent.py", replayAgent)
	p.write("run.yaml", "name: r\nserve: [{file: iface.py, name: tools}]\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n")
	p.ok("run", "run.yaml", "-q")
	first := p.read("runs/latest/outputs/result.txt")

	// The record says what was called, and with what seed.
	seeds := 0
	for line := range strings.Lines(p.read("runs/latest/record/calls.jsonl")) {
		var e struct {
			Function, State, Result string
			CodeHash                string `json:"code_hash"`
			Seed                    json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.CodeHash == "" {
			t.Errorf("a line of the record: %s, %v", line, err)
		}
		if string(e.Seed) == "7" {
			seeds++
		}
	}
	if seeds != 2 {
		t.Errorf("%d calls have their seed in the record", seeds)
	}

	p.ok("replay", "runs/latest", "-q")
	if again := p.read("runs/latest/replay/result.txt"); again != first {
		t.Errorf("replayed:\n%s\nbefore:\n%s", again, first)
	}
	if list := p.ls(); len(list) != 0 {
		t.Errorf("a replay made sandboxes: %v", list)
	}

	// Another agent, and a call that was not made.
	p.exits(11, []string{"replay", "runs/latest", "-q", "--outputs", "other", "--", "python3", "agent.py", "65"}, "the record has no call of matrix")

	// By hand, until Ctrl-C; and what a killed one leaves is gc's.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		stage := p.staged()
		cmd := p.command("/usr/bin/python3", "-B", "-c", "import tools; print(tools.draw(seed=7), list(tools.words(3)))")
		cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path("staged"))
		if r := p.start(cmd).wait(); r.code != 0 || !strings.Contains(r.out, strings.SplitN(first, "\n", 2)[0]) {
			t.Errorf("by hand: %d %s %s", r.code, r.out, r.err)
		}
		stage.signal(sig)
		stage.wait()
	}
	p.ok("gc")
	left, err := filepath.Glob(filepath.Join(p.env["XDG_RUNTIME_DIR"], "seer", "replay-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	p.exits(4, []string{"replay", "nowhere"}, "not a record of calls")
	for _, name := range []string{"run.json", "events.jsonl"} { // only the log counts
		p.ok("replay", "runs/latest", "-q", "--outputs", "before "+name)
		if err := os.Remove(p.path("runs/latest/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	p.exits(2, []string{"replay", "runs/latest"}, "name it: seer replay runs/latest FILE")
}

// staged answers from the record until it is stopped.
func (p *place) staged() *job {
	p.t.Helper()
	cmd := p.command(installed.seer, "replay", "runs/latest", "--out", "staged", "-q")
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	j := p.start(cmd)
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(patience))
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		p.t.Fatalf("the replay did not begin: %v %s", err, j.said())
	}
	return j
}
