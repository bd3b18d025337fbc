package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

// errNobodyThere says that there is no terminal to ask at.
var errNobodyThere = errors.New("there is nobody to ask: standard input is not a terminal")

// declined ends the program after somebody was asked and said no. That is no error, but
// what was to be done was not.
func (a *app) declined(text string) error {
	a.ui.tell("%s", text)
	return &codeError{code: exitPlugin, kind: string(engine.KindPlugin)}
}

// canAsk reports whether somebody sits at a terminal.
func (a *app) canAsk() bool { return !a.jsonOut && term.IsTerminal(int(a.in.Fd())) }

// confirm asks a question that is answered with y or n. Anything but y is no.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if !a.canAsk() {
		return false, errNobodyThere
	}
	forgetTyped(a.in)
	fmt.Fprintf(a.ui.stderr(), "%s [y/N] ", sanitize.Text(question))
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be given up; the program ends with it
		line, err := bufio.NewReader(a.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		return text == "y" || text == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.ui.stderr())
		return false, ctx.Err()
	}
}
