// Package driver communicates with the program of an agent. It passes the prompt, and converts the
// program's output to updates of the Agent Client Protocol (ACP), version 1.
package driver

import (
	"context"
	"io"
	"strings"

	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/sdk"
)

// The kinds of drivers.
const (
	Claude = "claude" // the JSON lines of claude -p --output-format stream-json
	Codex  = "codex"  // the JSON lines of codex exec --json
	ACP    = "acp"    // the Agent Client Protocol, version 1
	Lines  = "lines"  // lines of text
)

// Task is the task of an agent.
type Task struct {
	Prompt  string
	Dir     string           // working folder, as the agent sees it
	Servers []profile.Server // MCP servers; only the driver ACP uses them
	// Model is the model that the driver ACP chooses, if the agent offers it; empty = the program
	// chooses. Other programs take the model from their arguments.
	Model string
	// Ended is called once, when the agent has ended its turn and its standard input is closed.
	// Its output may still be open. Some programs do not exit then (Gemini CLI 0.61, while MCP
	// servers run), so the caller ends the program after a while. Nil = not called.
	Ended func()
}

// Update is one step of an agent.
type Update struct {
	// Update is a session/update of ACP; its sessionUpdate names the kind. Output without such a
	// kind is {"sessionUpdate": "unknown", "type": …}, with the program's own type. Fields that a
	// program does not state are absent, even required ones such as size of usage_update. A
	// usage_update may have _meta.usage {inputTokens, outputTokens, cachedReadTokens,
	// cachedWriteTokens} of the turn. Numbers are json.Number.
	Update map[string]any
	// Native is the program's line, at most 64 MiB, as UTF-8; empty = the line of the previous
	// update.
	Native string
}

// The reasons of an [Outcome]. The first five are ACP's.
const (
	EndTurn         = "end_turn"
	MaxTokens       = "max_tokens"
	MaxTurnRequests = "max_turn_requests"
	Refusal         = "refusal"
	Cancelled       = "cancelled"
	Failed          = "error"
)

// Outcome is the end of an agent's work, as its program states it. For a program that ends without
// a statement, the reason is error, or cancelled if the context has ended.
type Outcome struct {
	Reason string // end_turn, max_tokens, max_turn_requests, refusal, cancelled or error
	Error  string // the program's own message about its failure; not sanitized
}

// Run communicates with a program until the program closes its output. It closes stdin after its
// last message; Close must end a Write in progress, as it does for pipes. It calls send in one
// goroutine, in the order of the program's lines.
//
// When ctx ends, Run cancels the turn (ACP) or closes stdin. It reads on until the output ends, so
// the caller must end the program. An error is a mistake of the caller, such as an unknown kind;
// the outcome has the failures of the program.
func Run(ctx context.Context, kind string, stdin io.WriteCloser, stdout io.Reader, t Task, send func(Update)) (Outcome, error) {
	in := newInput(stdin)
	defer in.stop()
	s := &speech{send: send, in: in, ended: t.Ended}
	var p parser
	switch kind {
	case Claude:
		p = &claude{speech: s}
	case Codex:
		p = &codex{speech: s}
	case Lines:
		p = &lines{speech: s}
	case ACP:
		p = newACP(s, t)
	default:
		return Outcome{}, sdk.Errorf(sdk.Invalid, "the driver %q is unknown; known are %s, %s, %s and %s", kind, Claude, Codex, ACP, Lines)
	}
	p.begin(t)
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	reader := newLineReader(stdout)
	for {
		line, ok := reader.next()
		if !ok {
			break
		}
		s.read(p, line)
	}
	if s.outcome == nil {
		s.outcome = p.last(ctx.Err() != nil)
	}
	return *s.outcome, nil
}

// parser parses the output of one kind of program.
type parser interface {
	begin(t Task)
	// cancel is called in a goroutine of its own, at any time after begin.
	cancel()
	line(text []byte)
	// last returns the outcome of a program whose output ended without one.
	last(cancelled bool) *Outcome
}

// speech is the common part of the parsers: it sends updates and keeps the outcome.
type speech struct {
	send    func(Update)
	in      *input
	ended   func()
	native  string // the present line; empty after its first update
	outcome *Outcome
}

func (s *speech) read(p parser, line line) {
	s.native = strings.ToValidUTF8(string(line.text), "\uFFFD")
	if line.cut {
		s.unknown("", map[string]any{"truncated": true, "bytes": line.bytes})
		return
	}
	p.line(line.text)
	if s.native != "" && len(line.text) > 0 {
		s.unknown("", nil)
	}
}

// update sends an update. Only the first update of a line includes the line.
func (s *speech) update(kind string, fields map[string]any) {
	fields["sessionUpdate"] = kind
	s.pass(fields)
}

func (s *speech) pass(update map[string]any) {
	s.send(Update{Update: update, Native: s.native})
	s.native = ""
}

func (s *speech) unknown(typ string, fields map[string]any) {
	if fields == nil {
		fields = map[string]any{}
	}
	if typ != "" {
		fields["type"] = typ
	}
	s.update("unknown", fields)
}

// end keeps the first outcome, closes the program's input, and calls Ended.
func (s *speech) end(reason, why string) {
	if s.outcome != nil {
		return
	}
	s.outcome = &Outcome{Reason: reason, Error: why}
	s.in.close()
	if s.ended != nil {
		s.ended()
	}
}

// missing returns the outcome of a program that has ended without a statement.
func missing(cancelled bool, why string) *Outcome {
	if cancelled {
		return &Outcome{Reason: Cancelled}
	}
	if why == "" {
		why = "the program ended its output before its turn"
	}
	return &Outcome{Reason: Failed, Error: why}
}

// content returns a block of text in ACP.
func content(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// output returns the content of a tool call in ACP.
func output(blocks ...map[string]any) []any {
	out := []any{}
	for _, b := range blocks {
		out = append(out, map[string]any{"type": "content", "content": b})
	}
	return out
}
