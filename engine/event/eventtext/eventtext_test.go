package eventtext_test

import (
	"testing"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
)

func TestSentence(t *testing.T) {
	many := make([]string, 14)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	for want, data := range map[string]event.Data{
		"account: p, paid without credentials": event.PreflightAccount{Provider: "p"},
		"account: p, paid with A, B":           event.PreflightAccount{Provider: "p", Credentials: []string{"A", "B"}},
		"starting a machine on p":              event.MachineStarting{Provider: "p"},
		"m: the agent does not see these values: a, b, c, d, e, f, g, h, i, j, k, l and 2 more": event.HiddenValuesRemoved{Model: "m", Values: many},
		"packages: installed in 2 s":                                                      event.InstallFinished{Contents: "packages", Seconds: 1.6},
		"packages: 1 package installed in 2 s":                                            event.InstallFinished{Contents: "packages", Packages: 1, Seconds: 1.6},
		"installing Jupyter, once for this Python; it is kept, and the next start has it": event.BuildStarted{Part: "base", Contents: "Jupyter"},
		"building the system with x; it is kept, and the next start has it":               event.BuildStarted{Part: "system", Contents: "x"},
		"preparing a kernel":                                                              event.KernelPreparing{},
		"preparing a kernel, loading model, other":                                        event.KernelPreparing{Loading: []string{"model", "other"}},
		"waiting for its turn, which is next":                                             event.CallQueued{},
		"waiting for its turn: 1 call goes first":                                         event.CallQueued{Position: 1},
		"waiting for its turn: 2 calls go first":                                          event.CallQueued{Position: 2},
		"running the agent, isolation none, network open":                                 event.AgentStarted{Isolation: "none", Network: "open"},
		"running the agent, isolation gvisor, network none, memory 2.0 GiB, 9 processes, 1.5 cores, sandboxes of its own": event.AgentStarted{
			Isolation: "gvisor", Network: "none", Memory: 2 << 30, Processes: 9, CPU: 1.5, Nested: true},
		`the agent's command is "python" "a b"`:       event.AgentCommand{Command: []string{"python", "a b"}},
		"the start was cancelled; ending the machine": event.MachineEnding{Cancelled: true},
		"5 B": event.Copied{Stage: event.StageUpload, Bytes: 5},
		"1.0 GB of 4.0 GB, 20.0 MB/s, 2 min 30 s left":                                  event.Copied{Stage: event.StageModel, Bytes: 1e9, Total: 4e9, Rate: 2e7, Left: 150},
		"found no name of a hidden model in the files, except in what was not searched": event.HiddenSearchFinished{In: "the files", Unsearched: many},
	} {
		if got := eventtext.Sentence(event.Event{Type: event.TypeOf(data), Data: data}); got != want {
			t.Errorf("%T: %q, want %q", data, got, want)
		}
	}
}
