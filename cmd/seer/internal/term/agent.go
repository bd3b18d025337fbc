package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/sanitize"
)

// conversation is what an agent says and does, as people see it: its messages on stdout, and a line
// on stderr for each tool call that has ended.
type conversation struct {
	out    *Stream             // nil = nothing was said yet
	inLine bool                // the last message has not ended its line
	calls  map[string]toolCall // that run, by ID
	spent  string              // requests and cost so far; empty = none
	plan   string
}

type toolCall struct {
	title string
	began time.Time
}

// agent shows an event of an agent's conversation. It reports whether the event is one.
func (t *Terminal) agent(e engine.Event) bool {
	c := &t.conversation
	switch d := e.Data.(type) {
	case event.AgentUpdate:
		t.update(e, d)
	case event.ModelRequest:
		c.spent = fmt.Sprintf("$%.2f, %s", d.Total, Plural(d.Number, "request"))
		t.Counted(string(event.StageAgent), c.spent)
	case event.AgentTurnEnded:
		t.endMessage()
		if d.Error != "" {
			t.Note("warning", eventtext.Sentence(e))
		}
	case event.AgentProgram:
		if t.live != nil {
			t.Show(string(event.StageAgent), working)
			return true
		}
		return d.Provider == experiment.ProviderCommand // the user has written it
	case event.RunPlugin, event.RunModel, event.RunCode, event.RunPackages, event.RunGPUs, event.RunArtifact, event.RunEnded: // for the record
	default:
		if e.Stage() == event.StageAgent {
			t.endMessage()
		}
		return false
	}
	return true
}

func (t *Terminal) update(e engine.Event, d event.AgentUpdate) {
	c := &t.conversation
	kind, _ := d.Update["sessionUpdate"].(string)
	if kind != "agent_message_chunk" {
		t.endMessage()
	}
	switch kind {
	case "agent_message_chunk":
		t.say(eventtext.Sentence(e))
	case "tool_call", "tool_call_update":
		t.tool(e, d.Update)
	case "plan":
		if text := eventtext.Sentence(e); t.options.Verbose && text != c.plan && !t.options.Quiet {
			c.plan = text
			t.aside(text)
		}
	case "agent_thought_chunk":
		if t.options.Verbose && !t.options.Quiet {
			t.aside(eventtext.Sentence(e))
		}
	}
}

// working is the step while the agent thinks.
const working = "the agent works"

// say prints a part of a message.
func (t *Terminal) say(text string) {
	c := &t.conversation
	if c.out == nil {
		c.out = t.Screen(t.Out)
	}
	if text == "" {
		return
	}
	_, _ = fmt.Fprint(c.out, text) // the stream remembers its error
	_ = c.out.Flush()
	c.inLine = !strings.HasSuffix(text, "\n")
}

// endMessage ends the line of a message.
func (t *Terminal) endMessage() {
	if t.conversation.inLine {
		t.say("\n")
	}
}

// tool follows a tool call: the one that runs is the live line, and one that has ended gets a line.
func (t *Terminal) tool(e engine.Event, update map[string]any) {
	c := &t.conversation
	id, _ := update["toolCallId"].(string)
	status, _ := update["status"].(string)
	call, known := c.calls[id]
	if title, _ := update["title"].(string); title != "" {
		call.title = firstLine(strings.TrimSpace(title + " " + purpose(update["rawInput"], title)))
	}
	if !known {
		call.began = e.Time
	}
	if c.calls == nil {
		c.calls = map[string]toolCall{}
	}
	if status != "completed" && status != "failed" {
		c.calls[id] = call
		if !known {
			t.Show(string(event.StageAgent), sanitize.Text(call.title))
		}
		return
	}
	delete(c.calls, id)
	if t.options.Quiet {
		return
	}
	mark := t.done()
	if status == "failed" {
		mark = t.paint(red, "failed:")
	}
	t.Hide()
	fmt.Fprintf(t.Stderr(), "%s %s %s\n", mark, sanitize.Text(call.title), t.paint(dim, e.Time.Sub(call.began).Round(100*time.Millisecond).String()))
	t.Show(string(event.StageAgent), working)
	t.Counted(string(event.StageAgent), c.spent)
}

// purposes are the arguments by which people tell tool calls apart, the best first.
var purposes = []string{"description", "command", "cmd", "code", "file_path", "path", "pattern"}

// purpose is what a tool call is for, unless its title says it.
func purpose(input any, title string) string {
	arguments, _ := input.(map[string]any)
	for _, name := range purposes {
		if text, _ := arguments[name].(string); text != "" && !strings.Contains(title, text) {
			return text
		}
	}
	return ""
}

// aside prints what only some users want to see.
func (t *Terminal) aside(text string) {
	fmt.Fprintln(t.Stderr(), t.paint(dim, "  "+sanitize.Text(text)))
}

// maxTitle is how much of a tool call's title a line has.
const maxTitle = 100

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		line += " …"
	}
	return truncate(line, maxTitle)
}
