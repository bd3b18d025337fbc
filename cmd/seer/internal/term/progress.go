package term

import (
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/sanitize"
)

// Progress shows the engine's events.
func (t *Terminal) Progress(e engine.Event) {
	if d, ok := e.Data.(event.Copied); ok { // in a log, every piece would be a line
		if d.Stage == event.StageModel { // part of it was there before: only the event knows the rate
			t.Counted(string(d.Stage), eventtext.Sentence(e))
		} else {
			t.Moved(string(d.Stage), d.Bytes, d.Total)
		}
		return
	}
	kind, text := e.Kind(), eventtext.Sentence(e)
	if t.options.Text != nil {
		text = t.options.Text(text)
	}
	if t.options.JSON {
		if !t.options.Quiet || kind == event.KindWarning {
			_ = WriteJSON(t.Stderr(), eventJSON{e, kind, text, t.hints(e)}) // a closed stderr is no error
		}
		return
	}
	if t.agent(e) {
		return
	}
	switch {
	case kind == event.KindWarning:
		t.Note("warning", text)
	case t.options.Quiet:
		return
	case kind == event.KindOutput && t.live != nil && !t.options.Verbose:
		t.live.addOutput(string(e.Stage()), plainLine(text))
	case kind == event.KindOutput:
		fmt.Fprintln(t.Stderr(), t.paint(dim, "  "+sanitize.Text(text)))
	case t.live != nil && kind != event.KindDone:
		t.live.begin(e.Stage(), text)
	case t.live != nil:
		t.live.hide()
		fmt.Fprintln(t.Stderr(), t.done(), sanitize.Text(text))
	default:
		fmt.Fprintf(t.Stderr(), "%s: %s\n", e.Stage(), sanitize.Text(text))
	}
	for _, hint := range t.hints(e) {
		fmt.Fprintln(t.Stderr(), "hint:", sanitize.Text(hint))
	}
}

// Report shows an event of the CLI itself.
func (t *Terminal) Report(d event.Data) {
	t.reporting.Do(func() {
		t.reporter = event.NewReporter("", event.SourceCLI, time.Now, t.Progress)
	})
	t.reporter.Send(d)
}

// eventJSON is the line of an event under --json.
type eventJSON struct {
	Event engine.Event `json:"event"`
	Kind  event.Kind   `json:"kind"`
	Text  string       `json:"text"`
	Hints []string     `json:"hints,omitempty"`
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
		t.Report(event.Note{Word: word, Message: text})
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
