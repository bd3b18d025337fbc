package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// terminal holds the rules for output. Results go to stdout; progress, warnings,
// logs and errors go to stderr. On a terminal the present step is a live line,
// which makes way for anything else that is written.
type terminal struct {
	mu       sync.Mutex
	out, err *os.File
	json     bool
	quiet    bool
	verbose  bool // what installers print stays on the screen
	colors   bool
	ascii    bool     // the terminal says that it shows no other characters
	live     *spinner // nil = plain lines
	gone     bool     // nobody reads stdout any more
	unsaid   error    // why a result could not be written
}

func newTerminal(out, err *os.File) *terminal { return &terminal{out: out, err: err} }

func (t *terminal) configure(json, quiet, verbose, noColor bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.json, t.quiet, t.verbose = json, quiet, verbose
	tty := term.IsTerminal(int(t.err.Fd()))
	dumb := os.Getenv("TERM") == "dumb"
	t.ascii = asciiOnly(os.Getenv)
	t.colors = tty && !json && !noColor && !dumb && os.Getenv("NO_COLOR") == ""
	if tty && !json && !quiet && !dumb {
		t.live = newSpinner(t)
	}
}

// stdout and stderr are the only ways to the streams.
func (t *terminal) stdout() io.Writer { return &guarded{t: t, f: t.out} }
func (t *terminal) stderr() io.Writer { return &guarded{t: t, f: t.err} }

// raw is a stream for the output of a command, which need not end with a line:
// the live line stays away until there is news.
func (t *terminal) raw(f *os.File) io.Writer { return &guarded{t: t, f: f, hides: true} }

// screen is raw for what a function prints. On a terminal it gives no orders.
func (t *terminal) screen(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return &harmlessWriter{w: t.raw(f)}
	}
	return t.raw(f)
}

// guarded takes the live line away before it writes.
type guarded struct {
	t     *terminal
	f     *os.File
	hides bool
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
	n, err := g.f.Write(p)
	if g.f == g.t.out && isBrokenPipe(err) {
		g.t.gone = true
	}
	if g.f == g.t.out && !g.hides && g.t.unsaid == nil {
		g.t.unsaid = err
	}
	return n, err
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
