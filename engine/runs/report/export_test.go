package report

import (
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/record"
)

// Markdown is what a page has of a text of an agent, in a run with the call c1 that returned 0.7312.
func Markdown(written string) string {
	calls := []call{{Entry: record.Entry{ID: "c1", State: protocol.CallDone}, Anchor: "call-c1", Result: body{Text: "0.7312"}}}
	s := &source{calls: calls, byID: map[string]*call{"c1": &calls[0]}, scalars: scalarsOf(calls)}
	return string(s.markdown(start(written, 8<<10, "the log").Text, style{marked: true, lines: true}))
}

// Drawable is whether a drawing is shown.
func Drawable(svg []byte) error { return drawable(svg) }
