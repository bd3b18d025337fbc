package main

import (
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

// progress shows the engine's events.
func (t *terminal) progress(e engine.Event) {
	if e.Level == engine.LevelMoved { // in a log, every piece would be a line
		t.moved(string(e.Stage), e.Bytes, e.Total)
		return
	}
	if t.options.json {
		if !t.options.quiet || e.Level == engine.LevelWarn {
			_ = writeJSON(t.stderr(), map[string]engine.Event{"event": e}) // whoever closed stderr wants none
		}
		return
	}
	switch {
	case e.Level == engine.LevelWarn:
		t.note("warning", e.Message)
	case t.options.quiet:
	case e.Level == engine.LevelLog && t.live != nil && !t.options.verbose:
		t.live.printed(string(e.Stage), plain(e.Message))
	case e.Level == engine.LevelLog:
		fmt.Fprintln(t.stderr(), t.paint(dim, "  "+sanitize.Text(e.Message)))
	case t.live != nil && !e.Done:
		t.live.begins(e)
	case t.live != nil:
		t.live.hide()
		fmt.Fprintln(t.stderr(), t.done(), sanitize.Text(e.Message))
	default:
		fmt.Fprintf(t.stderr(), "%s: %s\n", e.Stage, sanitize.Text(e.Message))
	}
}

// moved shows how far the copying of the present step is, at a terminal.
func (t *terminal) moved(stage string, bytes, total int64) {
	if t.live != nil {
		t.live.moved(stage, bytes, total)
	}
}

// working shows a step of which nothing else is told, at a terminal, until done.
func (t *terminal) working(stage, text string) (done func()) {
	t.show(stage, text)
	return t.hide
}

// hasLiveLine reports whether the present step is a live line: in a log, every change of it
// would be a line.
func (t *terminal) hasLiveLine() bool { return t.live != nil }

// show makes a step the present one, at a terminal.
func (t *terminal) show(stage, text string) {
	if t.live != nil {
		t.live.show(stage, text)
	}
}

// counted shows how much of something the present step has found, at a terminal.
func (t *terminal) counted(stage, text string) {
	if t.live != nil {
		t.live.counted(stage, text)
	}
}

// hide takes the live line away: its step is finished.
func (t *terminal) hide() {
	if t.live != nil {
		t.live.hide()
	}
}

// note tells the user something that is neither progress nor a failure.
func (t *terminal) note(word, text string) {
	if t.options.json {
		t.progress(engine.Event{Time: time.Now(), Stage: engine.StageEnd, Level: engine.LevelWarn, Message: word + ": " + text})
		return
	}
	fmt.Fprintln(t.stderr(), t.paint(yellow, word+":"), sanitize.Text(text))
}

// fail says why the program failed.
func (t *terminal) fail(text string) {
	fmt.Fprintf(t.stderr(), "%s %s\n", t.paint(red, "seer:"), sanitize.Text(text))
}

// tell is a remark that is not a result.
func (t *terminal) tell(format string, args ...any) {
	if !t.options.quiet && !t.options.json {
		fmt.Fprintln(t.stderr(), sanitize.Line(fmt.Sprintf(format, args...)))
	}
}
