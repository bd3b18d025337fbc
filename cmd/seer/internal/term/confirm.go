package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine/sanitize"
)

// ErrNotATerminal is the error of a question that cannot be asked.
var ErrNotATerminal = errors.New("cannot ask: standard input is not a terminal")

// InputIsTerminal reports whether standard input is a terminal.
func (t *Terminal) InputIsTerminal() bool { return term.IsTerminal(int(t.In.Fd())) }

// CanAsk reports whether somebody sits at a terminal.
func (t *Terminal) CanAsk() bool { return !t.options.JSON && t.InputIsTerminal() }

// Confirm asks a question that is answered with y or n. Anything but y is no.
func (t *Terminal) Confirm(ctx context.Context, question string) (bool, error) {
	if !t.CanAsk() {
		return false, ErrNotATerminal
	}
	flushInput(t.In)
	fmt.Fprintf(t.Stderr(), "%s [y/N] ", sanitize.Text(question))
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be given up; the program ends with it
		line, err := bufio.NewReader(t.In).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		return text == "y" || text == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(t.Stderr())
		return false, ctx.Err()
	}
}

// Password asks for a secret, which is not shown while it is typed.
func (t *Terminal) Password(question string) ([]byte, error) {
	if !t.CanAsk() {
		return nil, ErrNotATerminal
	}
	fmt.Fprint(t.Stderr(), question)
	secret, err := term.ReadPassword(int(t.In.Fd()))
	fmt.Fprintln(t.Stderr())
	return secret, err
}
