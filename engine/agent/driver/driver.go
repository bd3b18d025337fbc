// Package driver speaks with the program of an agent: it hands the prompt over, and turns what the
// program prints into updates of the Agent Client Protocol (ACP).
package driver

import (
	"context"
	"errors"
	"io"

	"github.com/seer-engine/seer/engine/agent/profile"
)

// The kinds of drivers.
const (
	Claude = "claude" // the JSON lines of claude -p --output-format stream-json
	Codex  = "codex"  // the JSON lines of codex exec --json
	ACP    = "acp"    // the Agent Client Protocol, version 1
	Lines  = "lines"  // lines of text
)

// Task is what an agent is to do.
type Task struct {
	Prompt  string
	Dir     string           // its working folder, as it sees it
	Servers []profile.Server // MCP servers; only ACP takes them from here
	Model   string           // to choose by ACP; empty = the program's own choice
}

// Update is one step of an agent.
type Update struct {
	Update map[string]any // a session/update of ACP; sessionUpdate names its kind
	Native string         // the line that it comes from; empty = the same line as the update before
}

// Outcome says how an agent has ended, as its program states it.
type Outcome struct {
	Reason string // end_turn, max_tokens, max_turn_requests, refusal, cancelled or error
	Error  string // what the program says of its failure; not sanitized
}

// Run speaks with a program until it closes its output. It closes stdin when nothing more is to be
// sent. When ctx ends, it cancels the turn (ACP), closes stdin, and goes on reading until the
// output ends: the caller ends the program. send is called by one goroutine at a time. The error is
// for what the caller did wrong, such as an unknown kind; what the program does wrong is in the
// outcome.
func Run(ctx context.Context, kind string, stdin io.WriteCloser, stdout io.Reader, t Task, send func(Update)) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}
