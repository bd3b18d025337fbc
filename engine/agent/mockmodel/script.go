package mockmodel

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/yamldoc"
)

// Script is the sequence of the model's texts and calls.
type Script struct {
	Turns []Turn
	// End is the model's text after the end of the script, and its answer to requests that offer
	// none of the script's tools, such as one for a title. Default "finished".
	End string
}

// Turn is one answer of the model: a text, or the call of a tool, with a text before it.
type Turn struct {
	Think string // a thought before everything else, if the interface has thoughts
	Say   string
	// Call is the tool: NAME, or SERVER/NAME if tools of several MCP servers have that name. It
	// also matches the names that agents give to tools, such as mcp__SERVER__NAME. Empty = the
	// model ends its turn with Say.
	Call string
	// With are the arguments: JSON values. ${NAME} in a string is a text that an earlier turn has
	// taken. ${repeat} counts the calls of this turn, including the present one; it is a number if
	// it is the whole string. $${NAME} is a literal ${NAME}.
	With map[string]any
	// Optional skips the turn for agents that do not have the tool.
	Optional bool
	// Until is an expression that the answer of the call must match. The model repeats the call
	// until it does, at most 200 times. Nil = any answer.
	Until *regexp.Regexp
	// Take keeps parts of the answer by name: the match of the expression's first group.
	Take  map[string]*regexp.Regexp
	Usage Usage
	Fault *Fault
}

// Usage is the number of tokens that the model claims for an answer. Zero = 1 of input and output.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

// Fault is a failure of the first requests for a turn.
type Fault struct {
	Times  int           // number of requests; default 1
	Status int           // HTTP status to answer with, such as 429 or 500; 0 = none
	Hang   time.Duration // wait before the answer
	Cut    bool          // close the connection in the middle of the answer
}

var (
	scriptKeys = []string{"turns", "end"}
	turnKeys   = []string{"think", "say", "call", "with", "optional", "until", "take", "usage", "fault"}
	usageKeys  = []string{"input", "output", "cache_read", "cache_write"}
	faultKeys  = []string{"times", "status", "hang", "cut"}
)

// Load reads a script: a YAML file with the fields of [Script] and [Turn] in lower case, such as
// cache_read. The error has all mistakes, each with file:line.
func Load(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the script cannot be read: %w", err)
	}
	return Parse(path, data)
}

// Parse is [Load] for the content of file.
func Parse(file string, data []byte) (*Script, error) {
	r := &reader{Document: yamldoc.Document{File: file}}
	s := &Script{End: "finished"}
	root := r.NonEmptyRoot(data, "`turns:` and a list below it")
	if root == nil {
		return nil, r.Err()
	}
	f := r.Fields(root, "script", scriptKeys)
	if n := f["end"]; n != nil {
		s.End = r.Text(n, "end")
	}
	switch n := f["turns"]; {
	case n == nil:
		r.At(root.Line, "turns: missing; write a list of what the model says and calls")
	case n.Kind != yaml.SequenceNode:
		r.At(n.Line, "turns: not a list")
	default:
		for i, item := range n.Content {
			s.Turns = append(s.Turns, r.turn(item, fmt.Sprintf("turns[%d]", i)))
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// reader reads the parts of a script.
type reader struct {
	yamldoc.Document
	taken []string // names in Take of the turns so far
}

func (r *reader) turn(n *yaml.Node, what string) Turn {
	f := r.Fields(n, what, turnKeys)
	t := Turn{
		Think: r.Text(f["think"], what+".think"), Say: r.Text(f["say"], what+".say"), Call: r.Text(f["call"], what+".call"),
		Optional: r.flag(f["optional"], what+".optional"), Until: r.pattern(f["until"], what+".until"),
		Usage: r.usage(f["usage"], what+".usage"), Fault: r.fault(f["fault"], what+".fault"),
	}
	r.refers(f["say"], t.Say, what+".say")
	if n := f["with"]; n != nil {
		t.With = r.arguments(n, what+".with")
	}
	if n := f["take"]; n != nil {
		t.Take = map[string]*regexp.Regexp{}
		for name, value := range r.Fields(n, what+".take", nil) {
			t.Take[name] = r.pattern(value, what+".take."+name)
			r.taken = append(r.taken, name)
		}
	}
	if t.Call != "" {
		return t
	}
	if t.Say == "" {
		r.At(n.Line, "%s: neither say nor call; write one", what)
	}
	for _, key := range []string{"with", "optional", "until", "take"} {
		if f[key] != nil {
			r.At(f[key].Line, "%s.%s: belongs to a call, and the turn has none", what, key)
		}
	}
	return t
}

// arguments must be JSON, so that each interface can transport them.
func (r *reader) arguments(n *yaml.Node, what string) map[string]any {
	if n.Kind != yaml.MappingNode {
		r.At(n.Line, "%s: not a mapping of arguments to values", what)
		return nil
	}
	var out map[string]any
	err := n.Decode(&out)
	if err == nil {
		_, err = json.Marshal(out)
	}
	if err != nil {
		r.At(n.Line, "%s: not JSON values: %v", what, err)
	}
	r.refers(n, out, what)
	return out
}

// refers checks that an earlier turn takes each name to which a value refers.
func (r *reader) refers(n *yaml.Node, value any, what string) {
	for _, name := range references(value) {
		if !slices.Contains(r.taken, name) {
			r.At(n.Line, "%s: ${%s} is taken by no earlier turn", what, name)
		}
	}
}

func (r *reader) usage(n *yaml.Node, what string) Usage {
	u := Usage{Input: 1, Output: 1}
	if n == nil {
		return u
	}
	f := r.Fields(n, what, usageKeys)
	for i, into := range []*int{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite} {
		if v := f[usageKeys[i]]; v != nil {
			*into = r.number(v, what+"."+usageKeys[i], 0, 1<<40)
		}
	}
	return u
}

func (r *reader) fault(n *yaml.Node, what string) *Fault {
	if n == nil {
		return nil
	}
	f := r.Fields(n, what, faultKeys)
	fault := &Fault{Times: 1, Cut: r.flag(f["cut"], what+".cut")}
	if v := f["times"]; v != nil {
		fault.Times = r.number(v, what+".times", 1, 1<<30)
	}
	if v := f["status"]; v != nil {
		fault.Status = r.number(v, what+".status", 400, 599)
	}
	if v := f["hang"]; v != nil {
		d, err := time.ParseDuration(r.Text(v, what+".hang"))
		if err != nil || d <= 0 {
			r.At(v.Line, "%s.hang: %q is not a duration; write one such as 30s", what, v.Value)
		}
		fault.Hang = d
	}
	if fault.Status == 0 && fault.Hang == 0 && !fault.Cut {
		r.At(n.Line, "%s: nothing goes wrong; write status, hang or cut", what)
	}
	return fault
}

func (r *reader) flag(n *yaml.Node, what string) bool {
	switch text := r.Text(n, what); text {
	case "true":
		return true
	case "", "false":
	default:
		r.At(n.Line, "%s: %q is neither true nor false", what, text)
	}
	return false
}

func (r *reader) number(n *yaml.Node, what string, least, most int) int {
	value, err := strconv.Atoi(r.Text(n, what))
	if err != nil || value < least || value > most {
		r.At(n.Line, "%s: %q is not a whole number from %d to %d", what, n.Value, least, most)
	}
	return value
}

func (r *reader) pattern(n *yaml.Node, what string) *regexp.Regexp {
	text := r.Text(n, what)
	if text == "" {
		return nil
	}
	p, err := regexp.Compile(text)
	if err != nil {
		r.At(n.Line, "%s: not a regular expression: %v", what, err)
	}
	return p
}
