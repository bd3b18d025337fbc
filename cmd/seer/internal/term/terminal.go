// Package term speaks to the terminal: its streams, colours, live line, tables and questions.
// It knows nothing of commands.
package term

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/sanitize"
)

// Terminal holds the rules for output. Results go to stdout; progress, warnings,
// logs and errors go to stderr. On a terminal the present step is a live line,
// which makes way for anything else that is written.
type Terminal struct {
	In, Out, Err *os.File

	readerGone atomic.Bool // nobody reads stdout any more

	mu         sync.Mutex
	options    Options
	colors     bool
	ascii      bool     // the terminal says that it shows no other characters
	live       *spinner // nil = plain lines
	writeError error    // why a result could not be written
	lineOpen   bool     // a program has begun a line on the terminal

	conversation conversation // of the agent

	reporting sync.Once // for reporter, which reports events of the CLI itself
	reporter  event.Reporter

	Unsanitized bool // for tests of attacks only: programs' output passes as it is
}

// Options are what the command line says about output.
type Options struct {
	JSON    bool // JSON lines on stderr, too, and no live line
	Quiet   bool // warnings and results only
	Verbose bool // what installers print stays on the screen
	NoColor bool

	Hints func(engine.Event) []string // commands and flags that belong to an event; nil = none
	Text  func(string) string         // changes the text of an event into the words of the user; nil = leaves it
}

// New speaks to these streams, in plain lines until [Terminal.Configure] is called.
func New(in, out, err *os.File) *Terminal { return &Terminal{In: in, Out: out, Err: err} }

// Configure is called once the command line is known, before anything is written.
func (t *Terminal) Configure(o Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.options = o
	tty := term.IsTerminal(int(t.Err.Fd()))
	dumb := os.Getenv("TERM") == "dumb"
	t.ascii = asciiOnly(os.Getenv)
	t.colors = tty && !o.JSON && !o.NoColor && !dumb && os.Getenv("NO_COLOR") == ""
	if tty && !o.JSON && !o.Quiet && !dumb {
		t.live = newSpinner(t)
	}
}

// Stdout is for results. On a terminal they are sanitized; a pipe or a file gets them as
// they are.
func (t *Terminal) Stdout() io.Writer {
	g := t.guard(t.Out)
	if g.tty {
		g.clean(sanitize.NewMessageWriter)
	}
	return g
}

// Stderr is for what Seer says. It is sanitized wherever it goes.
func (t *Terminal) Stderr() io.Writer { return t.guard(t.Err).clean(sanitize.NewMessageWriter) }

// Raw is a stream for the output of a command on a terminal of its own, which passes as
// it is. The live line stays away until there is news.
func (t *Terminal) Raw(f *os.File) *Stream {
	g := t.guard(f)
	g.program = true
	return g
}

// Screen is raw for all other output of programs: sanitized on a terminal, and as it is
// in a pipe or a file.
func (t *Terminal) Screen(f *os.File) *Stream {
	g := t.Raw(f)
	if g.tty && !t.Unsanitized {
		g.clean(sanitize.NewWriter)
	}
	return g
}

func (t *Terminal) guard(f *os.File) *Stream {
	return &Stream{t: t, f: f, to: f, tty: term.IsTerminal(int(f.Fd()))}
}

// Stream takes the live line away before it writes, and on a terminal begins a line of
// Seer's on a line of its own. It is safe for concurrent use.
type Stream struct {
	t         *Terminal
	f         *os.File
	to        io.Writer        // f, or what sanitizes for it
	sanitizer *sanitize.Writer // nil = none
	tty       bool
	program   bool // output of a program, which need not end with a line
}

func (g *Stream) clean(with func(io.Writer) *sanitize.Writer) *Stream {
	g.sanitizer = with(g.f)
	g.to = g.sanitizer
	return g
}

// Write implements [io.Writer].
func (g *Stream) Write(p []byte) (int, error) {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	if g.t.live != nil {
		g.t.live.clear()
		if g.program {
			g.t.live.step = ""
		}
	}
	if g.tty && len(p) > 0 {
		if !g.program {
			g.t.endLine(g.f)
		}
		g.t.lineOpen = g.program && p[len(p)-1] != '\n'
	}
	n, err := g.to.Write(p)
	if g.f == g.t.Out && errors.Is(err, syscall.EPIPE) {
		g.t.readerGone.Store(true)
	}
	if g.f == g.t.Out && !g.program && g.t.writeError == nil {
		g.t.writeError = err
	}
	return n, err
}

// Flush writes what waits for the rest of its sequence.
func (g *Stream) Flush() error {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	if g.sanitizer == nil {
		return nil
	}
	return g.sanitizer.Flush()
}

// endLine ends a line that a program has begun, so that what Seer says is not taken for
// the rest of it. The caller holds the lock.
func (t *Terminal) endLine(f *os.File) {
	if t.lineOpen {
		t.lineOpen = false
		_, _ = f.WriteString("\n") // the next write fails as well
	}
}

// ReaderGone reports whether stdout is a pipe that nobody reads any more.
func (t *Terminal) ReaderGone() bool { return t.readerGone.Load() }

// WriteError is why a result could not be written, if so. Texts of many lines do not look.
func (t *Terminal) WriteError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeError
}

// Finish ends the live line.
func (t *Terminal) Finish() {
	t.mu.Lock()
	live := t.live
	t.mu.Unlock()
	if live != nil {
		live.stop()
	}
}

// Reveal prints what was said and is not on the screen: it is why something failed.
func (t *Terminal) Reveal() {
	t.mu.Lock()
	var said []string
	if t.live != nil {
		said, t.live.output = t.live.output, nil
	}
	t.mu.Unlock()
	for _, line := range said {
		fmt.Fprintln(t.Stderr(), t.paint(dim, "  "+line))
	}
}

// Width is the columns of stdout, or 0 where it is no terminal.
func (t *Terminal) Width() int {
	if w, _, err := term.GetSize(int(t.Out.Fd())); err == nil && term.IsTerminal(int(t.Out.Fd())) {
		return w
	}
	return 0
}

// asciiOnly reports whether the user's locale is one of other characters than Unicode's.
// Where none is set, as in many containers, terminals show Unicode.
func asciiOnly(env func(string) string) bool {
	locale := cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG"))
	charset := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return locale != "" && !strings.Contains(charset, "utf8")
}

// done is the mark of a step that has succeeded.
func (t *Terminal) done() string {
	if t.ascii {
		return t.paint(green, "ok")
	}
	return t.paint(green, "✓")
}

type color string

const (
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	dim    color = "2"
)

// paint colours a text for stderr.
func (t *Terminal) paint(c color, text string) string {
	if !t.colors {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
