package term

import (
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

// Progress shows the engine's events.
func (t *Terminal) Progress(e engine.Event) {
	if e.Level == engine.LevelMoved { // in a log, every piece would be a line
		t.Moved(string(e.Stage), e.Bytes, e.Total)
		return
	}
	if t.options.JSON {
		if !t.options.Quiet || e.Level == engine.LevelWarn {
			_ = WriteJSON(t.Stderr(), map[string]eventJSON{"event": {e, t.hints(e)}}) // a closed stderr is no error
		}
		return
	}
	switch {
	case e.Level == engine.LevelWarn:
		t.Note("warning", e.Message)
	case t.options.Quiet:
		return
	case e.Level == engine.LevelLog && t.live != nil && !t.options.Verbose:
		t.live.addOutput(string(e.Stage), plainLine(e.Message))
	case e.Level == engine.LevelLog:
		fmt.Fprintln(t.Stderr(), t.paint(dim, "  "+sanitize.Text(e.Message)))
	case t.live != nil && !e.Done:
		t.live.begin(e)
	case t.live != nil:
		t.live.hide()
		fmt.Fprintln(t.Stderr(), t.done(), sanitize.Text(e.Message))
	default:
		fmt.Fprintf(t.Stderr(), "%s: %s\n", e.Stage, sanitize.Text(e.Message))
	}
	for _, hint := range t.hints(e) {
		fmt.Fprintln(t.Stderr(), "hint:", sanitize.Text(hint))
	}
}

// eventJSON is an event under --json.
type eventJSON struct {
	engine.Event
	Hints []string `json:"hints,omitempty"`
}

func (t *Terminal) hints(e engine.Event) []string {
	if t.options.Hints == nil {
		return nil
	}
	return t.options.Hints(e)
}

// Moved shows how far the copying of the present step is, at a terminal.
func (t *Terminal) Moved(stage string, bytes, total int64) {
	if t.live != nil {
		t.live.moved(stage, bytes, total)
	}
}

// Working shows a step without events of its own, at a terminal, until done.
func (t *Terminal) Working(stage, text string) (done func()) {
	t.Show(stage, text)
	return t.Hide
}

// HasLiveLine reports whether the present step is a live line: in a log, every change of it
// would be a line.
func (t *Terminal) HasLiveLine() bool { return t.live != nil }

// Show makes a step the present one, at a terminal.
func (t *Terminal) Show(stage, text string) {
	if t.live != nil {
		t.live.show(stage, text)
	}
}

// Counted shows how much of something the present step has found, at a terminal.
func (t *Terminal) Counted(stage, text string) {
	if t.live != nil {
		t.live.counted(stage, text)
	}
}

// Hide takes the live line away: its step is finished.
func (t *Terminal) Hide() {
	if t.live != nil {
		t.live.hide()
	}
}

// Note tells the user something that is neither progress nor a failure.
func (t *Terminal) Note(word, text string) {
	if t.options.JSON {
		t.Progress(engine.Event{Time: time.Now(), Stage: engine.StageEnd, Level: engine.LevelWarn, Message: word + ": " + text})
		return
	}
	fmt.Fprintln(t.Stderr(), t.paint(yellow, word+":"), sanitize.Text(text))
}

// Fail says why the program failed.
func (t *Terminal) Fail(text string) {
	fmt.Fprintf(t.Stderr(), "%s %s\n", t.paint(red, "seer:"), sanitize.Text(text))
}

// Tell is a remark that is not a result.
func (t *Terminal) Tell(format string, args ...any) {
	if !t.options.Quiet && !t.options.JSON {
		fmt.Fprintln(t.Stderr(), sanitize.Line(fmt.Sprintf(format, args...)))
	}
}
