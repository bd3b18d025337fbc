package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine/sanitize"
)

// terminal holds the rules for output. Results go to stdout; progress, warnings,
// logs and errors go to stderr. On a terminal the present step is a live line,
// which makes way for anything else that is written.
type terminal struct {
	in, out, err *os.File

	mu      sync.Mutex
	options terminalOptions
	colors  bool
	ascii   bool     // the terminal says that it shows no other characters
	live    *spinner // nil = plain lines
	gone    bool     // nobody reads stdout any more
	unsaid  error    // why a result could not be written
	unended bool     // a program has begun a line on the terminal

	unsanitized bool // for tests of attacks only: programs' output passes as it is
}

// terminalOptions are what the command line says about output.
type terminalOptions struct {
	json    bool // JSON lines on stderr, too, and no live line
	quiet   bool // warnings and results only
	verbose bool // what installers print stays on the screen
	noColor bool
}

func newTerminal(in, out, err *os.File) *terminal { return &terminal{in: in, out: out, err: err} }

// configure is called once the command line is known, before anything is written.
func (t *terminal) configure(o terminalOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.options = o
	tty := term.IsTerminal(int(t.err.Fd()))
	dumb := os.Getenv("TERM") == "dumb"
	t.ascii = asciiOnly(os.Getenv)
	t.colors = tty && !o.json && !o.noColor && !dumb && os.Getenv("NO_COLOR") == ""
	if tty && !o.json && !o.quiet && !dumb {
		t.live = newSpinner(t)
	}
}

// stdout is for results. On a terminal they are sanitized; a pipe or a file gets them as
// they are.
func (t *terminal) stdout() io.Writer {
	g := t.guard(t.out)
	if g.tty {
		g.clean(sanitize.NewMessageWriter)
	}
	return g
}

// stderr is for what Seer says. It is sanitized wherever it goes.
func (t *terminal) stderr() io.Writer { return t.guard(t.err).clean(sanitize.NewMessageWriter) }

// raw is a stream for the output of a command on a terminal of its own, which passes as
// it is. The live line stays away until there is news.
func (t *terminal) raw(f *os.File) *guarded {
	g := t.guard(f)
	g.hides = true
	return g
}

// screen is raw for all other output of programs: sanitized on a terminal, and as it is
// in a pipe or a file.
func (t *terminal) screen(f *os.File) *guarded {
	g := t.raw(f)
	if g.tty && !t.unsanitized {
		g.clean(sanitize.NewWriter)
	}
	return g
}

func (t *terminal) guard(f *os.File) *guarded {
	return &guarded{t: t, f: f, to: f, tty: term.IsTerminal(int(f.Fd()))}
}

// guarded takes the live line away before it writes, and on a terminal begins a line of
// Seer's on a line of its own. It is safe for concurrent use.
type guarded struct {
	t         *terminal
	f         *os.File
	to        io.Writer        // f, or what sanitizes for it
	sanitizer *sanitize.Writer // nil = none
	tty       bool
	hides     bool // output of a program, which need not end with a line
}

func (g *guarded) clean(with func(io.Writer) *sanitize.Writer) *guarded {
	g.sanitizer = with(g.f)
	g.to = g.sanitizer
	return g
}

func (g *guarded) Write(p []byte) (int, error) {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	if g.t.live != nil {
		g.t.live.clear()
		if g.hides {
			g.t.live.step = ""
		}
	}
	if g.tty && len(p) > 0 {
		if !g.hides {
			g.t.endLine(g.f)
		}
		g.t.unended = g.hides && p[len(p)-1] != '\n'
	}
	n, err := g.to.Write(p)
	if g.f == g.t.out && errors.Is(err, syscall.EPIPE) {
		g.t.gone = true
	}
	if g.f == g.t.out && !g.hides && g.t.unsaid == nil {
		g.t.unsaid = err
	}
	return n, err
}

// Flush writes what waits for the rest of its sequence.
func (g *guarded) Flush() error {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	if g.sanitizer == nil {
		return nil
	}
	return g.sanitizer.Flush()
}

// endLine ends a line that a program has begun, so that what Seer says is not taken for
// the rest of it. The caller holds the lock.
func (t *terminal) endLine(f *os.File) {
	if t.unended {
		t.unended = false
		_, _ = f.WriteString("\n") // the next write fails as well
	}
}

// readerGone reports whether stdout is a pipe that nobody reads any more.
func (t *terminal) readerGone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

// lost is why a result could not be written, if so. Texts of many lines do not look.
func (t *terminal) lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unsaid
}

// finish ends the live line.
func (t *terminal) finish() {
	t.mu.Lock()
	live := t.live
	t.mu.Unlock()
	if live != nil {
		live.stop()
	}
}

// reveal prints what was said and is not on the screen: it is why something failed.
func (t *terminal) reveal() {
	t.mu.Lock()
	var said []string
	if t.live != nil {
		said, t.live.said = t.live.said, nil
	}
	t.mu.Unlock()
	for _, line := range said {
		fmt.Fprintln(t.stderr(), t.paint(dim, "  "+line))
	}
}

// width is the columns of stdout, or 0 where it is no terminal.
func (t *terminal) width() int {
	if w, _, err := term.GetSize(int(t.out.Fd())); err == nil && term.IsTerminal(int(t.out.Fd())) {
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
func (t *terminal) done() string {
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
func (t *terminal) paint(c color, text string) string {
	if !t.colors {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
