package runscmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/sanitize"
)

const (
	mostInput  = 100 // characters of a tool call's input, and of its output
	mostNative = 160 // characters of an update that nobody knows
)

// speakers are the items that are texts.
var speakers = map[string]string{runs.ItemUser: "user", runs.ItemMessage: "agent", runs.ItemThought: "thought"}

// transcriptText prints a transcript with each tool call in a line. All of it is of strangers.
func transcriptText(w io.Writer, items []runs.Item) {
	for _, i := range items {
		at := i.Time.Local().Format("15:04:05")
		switch {
		case speakers[i.Kind] != "":
			fmt.Fprintf(w, "%s %s\n", at, speakers[i.Kind])
			fmt.Fprintln(w, indented(i.Text))
		case i.Tool != nil:
			fmt.Fprintf(w, "%s tool %s\n", at, toolText(i))
		case i.Kind == runs.ItemPlan:
			fmt.Fprintf(w, "%s plan\n", at)
			for _, p := range i.Plan {
				fmt.Fprintf(w, "  [%s] %s\n", sanitize.Line(p.Status), sanitize.Line(p.Content))
			}
		case i.Kind == runs.ItemTurn:
			fmt.Fprintf(w, "%s turn ended: %s\n", at, sanitize.Line(i.Text))
		default:
			fmt.Fprintf(w, "%s other %s\n", at, sanitize.Line(cut(i.Text, mostNative)))
		}
	}
}

// indented is a text of lines below a line.
func indented(text string) string {
	text = sanitize.Text(strings.TrimRight(text, "\n"))
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// toolText is a tool call in a line: what it was, what it got and what it gave.
func toolText(i runs.Item) string {
	c := i.Tool
	text := strings.Join(strings.Fields(c.Title), " ")
	if text == "" {
		text = c.ID
	}
	if c.Input != nil {
		text += " " + cut(inLine(c.Input), mostInput)
	}
	about := c.Status
	if about == "" {
		about = "pending"
	}
	text += fmt.Sprintf(" [%s, %.1fs]", about, max(i.Ended.Sub(i.Time).Seconds(), 0))
	out := c.Text
	if out == "" && c.Output != nil {
		out = inLine(c.Output)
	}
	if out = strings.Join(strings.Fields(cut(out, 4*mostInput)), " "); out != "" {
		text += " → " + cut(out, mostInput)
	}
	return sanitize.Line(text)
}

// inLine is a value in a line: a text as it is, and everything else as JSON.
func inLine(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // people read it
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
