package mockmodel

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxRepeats limits the repetitions of a call with Until.
const maxRepeats = 200

// conversation is the content of a request in any interface.
type conversation struct {
	model  string
	stream bool
	tools  []tool
	past   []Entry // oldest first
}

// tool is a tool with the agent's name for it. Some agents put the tools of a server into a
// namespace.
type tool struct{ name, namespace string }

// Entry is a text of the model that ended its turn, or the answer to a call of it.
type Entry struct {
	Tool string `json:"tool,omitempty"` // as the agent names it; empty = the model spoke
	Text string `json:"text"`
}

// answer is the model's next answer.
type answer struct {
	think, say string
	call       *call
	usage      Usage
	turn       int    // index of the turn in the script; -1 = none of them
	fault      *Fault // nil = none
}

type call struct {
	tool      tool
	arguments map[string]any
	number    int // of calls before it, for its ID
}

// play finds the next answer of a conversation.
func (s *Script) play(c conversation) answer {
	turns := s.playable(c.tools)
	if len(turns) == 0 { // a request beside the conversation, such as one for a title
		return answer{say: s.End, usage: Usage{Input: 1, Output: 1}, turn: -1}
	}
	p := progress{script: s, turns: turns, taken: map[string]string{}}
	for _, e := range c.past {
		p.see(e)
	}
	if p.at >= len(turns) {
		return answer{say: s.End, usage: Usage{Input: 1, Output: 1}, turn: -1}
	}
	t := s.Turns[turns[p.at]]
	a := answer{think: t.Think, say: p.text(t.Say), usage: t.Usage, turn: turns[p.at], fault: t.Fault}
	if t.Call == "" {
		return a
	}
	name, arguments := t.Call, p.fill(t.With)
	if p.next != nil {
		name, arguments, a.think, a.say = p.next.tool, p.next.arguments, "", ""
	}
	found, ok := find(c.tools, name)
	if !ok {
		a.say = "The script calls " + name + ", which is not among the tools of this request: " + names(c.tools) + "."
		return a
	}
	a.call = &call{tool: found, arguments: arguments, number: p.calls}
	return a
}

// playable returns the indexes of the turns that this agent can play. It returns none for an agent
// without a tool of the script.
func (s *Script) playable(tools []tool) []int {
	var turns []int
	has, calls := false, false
	for i, t := range s.Turns {
		_, ok := find(tools, t.Call)
		has, calls = has || ok, calls || t.Call != ""
		if !t.Optional || ok {
			turns = append(turns, i)
		}
	}
	if calls && !has {
		return nil
	}
	return turns
}

// progress follows the past of a conversation in the script.
type progress struct {
	script  *Script
	turns   []int
	at      int // in turns
	calls   int
	repeats int
	next    *followUp // call that the last answer requests; nil = none
	taken   map[string]string
}

// followUp is the call that waits for the answer of a call in progress.
type followUp struct {
	tool      string
	arguments map[string]any
}

// pending matches the answer with which Seer's MCP servers report a call in progress.
var pending = lazyregexp.New(`(call-result) with \{\W*call\W*: \W*([A-Za-z0-9_.-]*[A-Za-z0-9])`)

// see advances the progress by an entry.
func (p *progress) see(e Entry) {
	if p.at >= len(p.turns) {
		return
	}
	t := p.script.Turns[p.turns[p.at]]
	if e.Tool == "" {
		if t.Call == "" {
			p.at++
		}
		return
	}
	p.calls++
	p.repeats++
	p.next = nil
	for name, pattern := range t.Take {
		if m := pattern.FindStringSubmatch(e.Text); m != nil {
			p.taken[name] = m[len(m)-1]
		}
	}
	wait := pending().FindStringSubmatch(e.Text)
	over := t.Until == nil && wait == nil || t.Until != nil && t.Until.MatchString(e.Text)
	if over || p.repeats >= maxRepeats {
		p.at++
		p.repeats = 0
		return
	}
	if wait != nil {
		p.next = &followUp{wait[1], map[string]any{"call": wait[2]}}
	}
}

// reference is ${NAME} in a text; $${NAME} is none.
var reference = lazyregexp.New(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// repeat is the reference to the number of calls of a turn, including the present one.
const repeat = "repeat"

// fill replaces the references in arguments by the taken texts.
func (p *progress) fill(with map[string]any) map[string]any {
	out, _ := p.filled(with).(map[string]any)
	if out == nil {
		return map[string]any{}
	}
	return out
}

// text replaces the references in a text by the taken texts.
func (p *progress) text(text string) string {
	return reference().ReplaceAllStringFunc(text, p.referred)
}

func (p *progress) filled(value any) any {
	switch v := value.(type) {
	case string:
		if v == "${"+repeat+"}" {
			return p.repeats + 1
		}
		return p.text(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = p.filled(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = p.filled(item)
		}
		return out
	}
	return value
}

func (p *progress) referred(text string) string {
	if plain, escaped := strings.CutPrefix(text, "$$"); escaped {
		return "$" + plain
	}
	name := text[2 : len(text)-1]
	if name == repeat {
		return strconv.Itoa(p.repeats + 1)
	}
	return p.taken[name]
}

// references returns the names to which the strings of a value refer.
func references(value any) (found []string) {
	text, _ := json.Marshal(value) // what cannot be marshalled is refused before
	for _, m := range reference().FindAllStringSubmatch(string(text), -1) {
		if !strings.HasPrefix(m[0], "$$") && m[1] != repeat {
			found = append(found, m[1])
		}
	}
	return found
}

// find returns the tool of a name among an agent's tools. The agent's name may have the server's
// name as prefix. Of several matches, find returns the shortest.
func find(tools []tool, name string) (tool, bool) {
	if name == "" {
		return tool{}, false
	}
	server, plain, split := strings.Cut(name, "/")
	if !split {
		server, plain = "", name
	}
	server, plain = folded(server), folded(plain)
	var best tool
	ok := false
	for _, t := range tools {
		whole := "_" + folded(t.namespace+"_"+t.name)
		before, is := strings.CutSuffix(whole, "_"+plain)
		if !is || !strings.HasSuffix(before, server) {
			continue
		}
		if !ok || len(t.namespace+t.name) < len(best.namespace+best.name) {
			best, ok = t, true
		}
	}
	return best, ok
}

// folded replaces the characters with which agents separate names, and their replacements, by a
// single one.
func folded(name string) string {
	return strings.Trim(separators().ReplaceAllString(name, "_"), "_")
}

var separators = lazyregexp.New(`[-_.:/]+`)

func names(tools []tool) string {
	all := make([]string, len(tools))
	for i, t := range tools {
		all[i] = t.name
	}
	return strings.Join(all, ", ")
}
