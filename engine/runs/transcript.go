package runs

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/event"
)

const (
	mostItems      = 200_000
	mostTranscript = 256 << 20 // bytes of texts and values in a transcript, roughly
)

// cutNote ends a transcript that has more than mostItems or mostTranscript.
const cutNote = "The transcript is cut here, because it is too long; " + EventsName + " has the rest."

// Transcript is what the agent said and did, in order. Chunks of one message that follow each other
// are joined: those with one messageId, and without IDs those of one kind in one turn. The updates
// of a tool call are merged into it. Lines and blobs that cannot be read are left out or noted in
// their place; see [Run.Events] for the reasons. A transcript of more than 200,000 items or 256 MiB
// is cut, and its last item says so.
func (r *Run) Transcript() ([]Item, error) {
	t := transcriber{left: mostTranscript, most: mostItems, tools: map[string]int{}}
	err := r.withLog(func(root *os.Root, log io.Reader) error {
		t.root = root
		return lines(log, func(_ int, line []byte) bool { return t.line(line) })
	})
	t.flush()
	return t.items, err
}

type transcriber struct {
	root  *os.Root
	items []Item
	text  strings.Builder // of the last item, if that is a message or a thought
	id    string          // of that message; empty = unknown
	tools map[string]int  // places in items, by ID
	left  int64           // of mostTranscript
	most  int             // items
}

// line takes a line, and reports whether there is room for more.
func (t *transcriber) line(line []byte) bool {
	h, err := headerOf(line)
	if err != nil {
		return true
	}
	switch h.Type {
	case "agent.update":
		t.update(h, line)
	case "agent.turn_ended":
		t.turn(h, line)
	case "agent.program": // it begins a turn
		t.flush()
	}
	if t.left > 0 && len(t.items) < t.most {
		return true
	}
	t.add(h, Item{Kind: ItemOther, Text: cutNote})
	return false
}

func (t *transcriber) turn(h header, line []byte) {
	e, _ := eventOf(t.root, line) // an error with a missing blob has its note
	if d, ok := e.Data.(event.AgentTurnEnded); ok {
		text := d.Reason
		if d.Error != "" {
			text += ": " + d.Error
		}
		t.left -= int64(len(text))
		t.add(h, Item{Kind: ItemTurn, Text: text})
	}
}

func (t *transcriber) update(h header, line []byte) {
	u, native := t.decoded(line)
	if u == nil {
		return
	}
	t.left -= size(u)
	kind := textOf(u["sessionUpdate"])
	switch kind {
	case "user_message_chunk":
		t.chunk(h, ItemUser, u)
	case "agent_message_chunk":
		t.chunk(h, ItemMessage, u)
	case "agent_thought_chunk":
		t.chunk(h, ItemThought, u)
	case "tool_call", "tool_call_update":
		t.tool(h, u, kind == "tool_call")
	case "plan":
		t.add(h, Item{Kind: ItemPlan, Plan: planOf(u)})
	case "usage_update": // the meter knows better; it comes with the end of a turn
		if t.id == "" {
			t.flush()
		}
	case "unknown":
		t.left -= int64(len(native))
		t.add(h, Item{Kind: ItemOther, Text: native})
	default:
		t.add(h, Item{Kind: ItemOther, Text: asText(u).(string)})
	}
}

// decoded is the update of a line; native only where it is all that there is. nil = it cannot be
// read.
func (t *transcriber) decoded(line []byte) (u map[string]any, native string) {
	if u := quickUpdate(line); u != nil {
		return u, ""
	}
	var raw struct {
		Data json.RawMessage `json:"data"`
	}
	var data struct {
		Update json.RawMessage `json:"update"`
		Native json.RawMessage `json:"native"`
	}
	if json.Unmarshal(line, &raw) != nil {
		return nil, ""
	}
	r := resolver{root: t.root, left: min(mostOfEvent, t.left)}
	if whole, ok, _ := r.whole(raw.Data); ok {
		raw.Data = whole
	}
	if json.Unmarshal(raw.Data, &data) != nil {
		return nil, ""
	}
	v, err := decode(data.Update)
	if err != nil {
		return nil, ""
	}
	u, _ = r.value(v).(map[string]any)
	if u != nil && textOf(u["sessionUpdate"]) == "unknown" && data.Native != nil {
		if v, err := decode(data.Native); err == nil {
			native = textOf(r.value(v))
		}
	}
	return u, native
}

// quickUpdate reads the update of a line as this package writes it, up to the end of the update: the
// native line behind it is most of a log. nil = the line has to be read as a whole.
func quickUpdate(line []byte) map[string]any {
	const begin = `"data":{"update":`
	i := bytes.Index(line[:min(len(line), 512)], []byte(begin))
	if i < 0 || hasBlobs(line) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(line[i+len(begin):]))
	dec.UseNumber()
	var u map[string]any
	if dec.Decode(&u) != nil || textOf(u["sessionUpdate"]) == "unknown" {
		return nil
	}
	return u
}

// add appends an item, which ends a message.
func (t *transcriber) add(h header, i Item) {
	t.flush()
	i.Seq, i.Time, i.Ended = h.Seq, h.Time.UTC(), h.Time.UTC()
	t.items = append(t.items, i)
}

// flush gives the last message its text.
func (t *transcriber) flush() {
	if t.text.Len() > 0 {
		t.items[len(t.items)-1].Text = t.text.String()
		t.text.Reset()
	}
}

func (t *transcriber) chunk(h header, kind string, u map[string]any) {
	text, id := blockText(u["content"]), textOf(u["messageId"])
	if text == "" {
		return
	}
	if t.text.Len() == 0 || t.last().Kind != kind || id != t.id {
		t.add(h, Item{Kind: kind})
	}
	t.id = id
	t.text.WriteString(text)
	t.last().Ended = h.Time.UTC()
}

func (t *transcriber) last() *Item { return &t.items[len(t.items)-1] }

// tool takes a tool call, or an update of one. A call with the ID of one that has ended is another
// one: agents count anew after a restart.
func (t *transcriber) tool(h header, u map[string]any, begins bool) {
	id := textOf(u["toolCallId"])
	at, ok := t.tools[id]
	if !ok || begins && (t.items[at].Tool.Status == "completed" || t.items[at].Tool.Status == "failed") {
		t.add(h, Item{Kind: ItemTool, Tool: &ToolCall{ID: id}})
		at = len(t.items) - 1
		t.tools[id] = at
	}
	t.flush()
	item := &t.items[at]
	item.Ended = h.Time.UTC()
	item.Tool.merge(u)
}

// merge takes what an update has.
func (c *ToolCall) merge(u map[string]any) {
	for key, to := range map[string]*string{"title": &c.Title, "kind": &c.Kind, "status": &c.Status} {
		if text := textOf(u[key]); text != "" {
			*to = text
		}
	}
	if v := u["rawInput"]; v != nil {
		c.Input = v
	}
	if v := u["rawOutput"]; v != nil {
		c.Output = v
	}
	blocks, ok := u["content"].([]any)
	if !ok {
		return
	}
	c.Content = blocks
	var texts []string
	for _, b := range blocks {
		if text := contentText(b); text != "" {
			texts = append(texts, text)
		}
	}
	c.Text = strings.Join(texts, "\n")
}

// contentText is the text of a ToolCallContent of ACP.
func contentText(v any) string {
	in, _ := v.(map[string]any)
	switch kind := textOf(in["type"]); kind {
	case "content":
		return blockText(in["content"])
	case "diff":
		return "[diff " + textOf(in["path"]) + "]"
	case "terminal":
		return "[terminal " + textOf(in["terminalId"]) + "]"
	default:
		return blockText(v)
	}
}

// blockText is the text of a ContentBlock of ACP, or what it is, in brackets.
func blockText(v any) string {
	in, ok := v.(map[string]any)
	if !ok {
		return textOf(v)
	}
	what := ""
	switch kind := textOf(in["type"]); kind {
	case "text", "":
		return textOf(in["text"])
	case "image", "audio":
		what = kind + " " + textOf(in["mimeType"])
	case "resource_link":
		what = "resource " + textOf(in["uri"])
	case "resource":
		inner, _ := in["resource"].(map[string]any)
		if text := textOf(inner["text"]); text != "" {
			return text
		}
		what = "resource " + textOf(inner["uri"])
	default:
		what = kind
	}
	return "[" + strings.TrimSpace(what) + "]"
}

func planOf(u map[string]any) []PlanEntry {
	entries, _ := u["entries"].([]any)
	plan := make([]PlanEntry, 0, len(entries))
	for _, e := range entries {
		in, _ := e.(map[string]any)
		plan = append(plan, PlanEntry{textOf(in["content"]), textOf(in["priority"]), textOf(in["status"])})
	}
	return plan
}

// textOf is v where it is a text, and else empty.
func textOf(v any) string {
	text, _ := v.(string)
	return text
}

// size is roughly what a value takes in memory.
func size(v any) int64 {
	n := int64(32)
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case json.Number:
		n += int64(len(v))
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	case map[string]any:
		for key, inner := range v {
			n += int64(len(key)) + 32 + size(inner)
		}
	}
	return n
}
