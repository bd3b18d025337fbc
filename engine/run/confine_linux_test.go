package run_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/run"
)

// TestGVisorAgent: an agent in gVisor has what it has in bubblewrap, its end included.
func TestGVisorAgent(t *testing.T) {
	t.Run("works", func(t *testing.T) { runTwice(t, isolation.GVisor) })
	t.Run("fails", func(t *testing.T) { runOfAnAgentThatFails(t, isolation.GVisor) })
	t.Run("is stopped", func(t *testing.T) { runStopsWhenItIsTold(t, isolation.GVisor) })
}

const greedyAgent = `
import os, subprocess, sys
code = "x = bytearray(600 << 20)\nx[::4096] = b'x' * (600 << 8)"
print("memory", subprocess.run([sys.executable, "-c", code]).returncode, flush=True)
try:
    with open("/tmp/fill", "wb") as f:
        for _ in range(200): f.write(bytes(1 << 20))
    print("tmpfs filled", flush=True)
except OSError as e:
    print("tmpfs", e.strerror, flush=True)
os.remove("/tmp/fill")
children = []
try:
    while len(children) < 500:
        pid = os.fork()
        if pid == 0:
            os.read(0, 1); os._exit(0)
        children.append(pid)
    print("forks unlimited")
except OSError as e:
    print("forks", e.strerror, flush=True)
`

// TestAgentIsLimited: an agent cannot take more memory, processes or folders in memory
// than it has, and its user is told why it failed.
func TestAgentIsLimited(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs control groups")
	}
	e, exp := setup(t, greedyAgent, "")
	exp.Agent.MemoryGB, exp.Agent.Processes = 0.25, 64
	var out bytes.Buffer
	var said []string
	_, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out, Progress: func(ev engine.Event) { said = append(said, eventtext.Sentence(ev)) }})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "memory -9\ntmpfs No space left on device\nforks Resource temporarily unavailable\n" {
		t.Errorf("%s", got)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "the agent's memory of 0.2 GiB was full") || !strings.Contains(all, "memory 0.2 GiB, 64 processes") {
		t.Errorf("%s", all)
	}
}
