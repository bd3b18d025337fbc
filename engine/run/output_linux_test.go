package run_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/testkit"
)

// printing are the options of Claude Code, whose place a program of Python takes.
func printing(t *testing.T, script string) (*engine.Engine, run.AgentOptions, *seen) {
	t.Helper()
	e, o := profiled(t, "claude")
	program := filepath.Join(t.TempDir(), "program")
	text := "#!/usr/bin/env python3\nimport os, sys\nif '--version' in sys.argv: sys.exit(print('99.0.0'))\n" + script
	testkit.WriteProgram(t, program, text)
	o.Agent.Model, o.Agent.BaseURL, o.Agent.Command = "m", "http://127.0.0.1:9", []string{program}
	s := &seen{}
	o.Progress = s.take
	return e, o, s
}

// ended checks that the log has exactly one end, and that it and the summary say the same.
func ended(t *testing.T, folder string, state runs.State, want string) {
	t.Helper()
	kept, err := runs.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var ends []event.RunEnded
	for e, err := range kept.Events() {
		if err != nil {
			t.Error(err)
		}
		if d, is := e.Data.(event.RunEnded); is {
			ends = append(ends, d)
		}
	}
	if len(ends) != 1 || kept.State != state || !strings.Contains(ends[0].Error, want) || kept.Lost != 0 || kept.Faults != 0 {
		t.Errorf("%s: %+v, %+v", kept.State, ends, kept.Summary)
	}
}

// TestAgentThatPrintsMuch: an agent prints 1 GB, in one line and in many, in bounded memory.
func TestAgentThatPrintsMuch(t *testing.T) {
	const most = 3 << 29 // bytes of memory: of a line, 64 MiB are kept, and copied several times
	half := 512          // MiB
	if testkit.Race {
		half /= 8 // it is slow
	}
	e, o, s := printing(t, `
half = `+strconv.Itoa(half)+`
sys.stdout.write('{"type": "assistant", "text": "')
for _ in range(half): sys.stdout.write("x" * (1 << 20))
print('"}')
for _ in range(half): print("y" * ((1 << 20) - 1))
print('{"type": "result", "subtype": "success"}')
`)
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var highest uint64
		for {
			select {
			case <-done:
				peak <- highest
				return
			case <-time.After(20 * time.Millisecond):
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
		}
	}()
	o.Progress = nil // the test keeps nothing either
	result, err := run.Agent(t.Context(), e, o)
	close(done)
	if got := <-peak; got > most {
		t.Errorf("it has taken %d MiB", got>>20)
	} else {
		t.Logf("%d MiB", got>>20)
	}
	if err != nil || result.ExitCode != 0 || result.Reason != "end_turn" {
		t.Errorf("%+v, %v, %v", result, err, len(s.events))
	}
	ended(t, result.Folder, runs.Finished, "")
	if info, err := os.Stat(filepath.Join(result.Folder, "agent.log")); err != nil || info.Size() < int64(half)<<21 {
		t.Errorf("agent.log: %+v, %v", info, err)
	}
}

// TestAgentThatClosesItsOutput: what it does afterwards counts, and its turn has no known end.
func TestAgentThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	e, o, s := printing(t, `
print('{"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "Bye."}]}}', flush=True)
os.close(1)
open(os.environ["SEER_OUTPUTS"] + "/late", "w").write("made")
`)
	result, err := run.Agent(t.Context(), e, o)
	ends := all[event.AgentTurnEnded](s)
	if err != nil || result.ExitCode == 0 || len(ends) != 1 || ends[0].Reason != "error" {
		t.Errorf("%+v, %v, %+v", result, err, ends)
	}
	ended(t, result.Folder, runs.Failed, "exit code")
	if got, err := os.ReadFile(filepath.Join(result.Outputs, "late")); err != nil || string(got) != "made" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestAgentThatClosesItsOutputAndStays: its time limit ends it.
func TestAgentThatClosesItsOutputAndStays(t *testing.T) {
	t.Parallel()
	e, o, s := printing(t, "import time\nos.close(1)\nopen('ready', 'w').close()\ntime.sleep(1000)\n")
	o.Agent.Timeout = 3 * time.Second
	result, err := run.Agent(t.Context(), e, o)
	if engine.KindOf(err) != engine.KindTimeout || len(all[event.AgentTurnEnded](s)) != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	ended(t, result.Folder, runs.Stopped, "agent.timeout")
}
