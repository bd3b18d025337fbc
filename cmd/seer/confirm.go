package main

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

// errNobodyThere says that there is no terminal to ask at.
var errNobodyThere = errors.New("there is nobody to ask: standard input is not a terminal")

// inputIsTerminal reports whether standard input is a terminal.
func (t *terminal) inputIsTerminal() bool { return term.IsTerminal(int(t.in.Fd())) }

// canAsk reports whether somebody sits at a terminal.
func (t *terminal) canAsk() bool { return !t.options.json && t.inputIsTerminal() }

// confirm asks a question that is answered with y or n. Anything but y is no.
func (t *terminal) confirm(ctx context.Context, question string) (bool, error) {
	if !t.canAsk() {
		return false, errNobodyThere
	}
	forgetTyped(t.in)
	fmt.Fprintf(t.stderr(), "%s [y/N] ", sanitize.Text(question))
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be given up; the program ends with it
		line, err := bufio.NewReader(t.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		return text == "y" || text == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(t.stderr())
		return false, ctx.Err()
	}
}

// password asks for a secret, which is not shown while it is typed.
func (t *terminal) password(question string) ([]byte, error) {
	if !t.canAsk() {
		return nil, errNobodyThere
	}
	fmt.Fprint(t.stderr(), question)
	secret, err := term.ReadPassword(int(t.in.Fd()))
	fmt.Fprintln(t.stderr())
	return secret, err
}
