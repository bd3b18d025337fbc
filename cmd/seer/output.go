package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/sanitize"
)

// printJSON prints one value on one line of stdout.
func (a *app) printJSON(v any) error { return term.WriteJSON(a.ui.Stdout(), v) }

// print prints v under --json, and what text writes otherwise.
func (a *app) print(v any, text func(w io.Writer) error) error {
	if a.jsonOut {
		return a.printJSON(v)
	}
	return text(a.ui.Stdout())
}

// document prints a JSON document as it is written, under --json on one line.
func (a *app) document(text []byte) error {
	return a.print(json.RawMessage(text), func(w io.Writer) error {
		_, err := w.Write(sanitize.JSON(text))
		return err
	})
}

func (a *app) println(args ...any) error {
	_, err := fmt.Fprintln(a.ui.Stdout(), args...)
	return err
}

// streams are where the output of a command goes: to the terminal, straight to a pipe or a
// file, or as JSON lines on stdout. end flushes them.
func (a *app) streams() (stdout, stderr io.Writer, end func() error) {
	if !a.jsonOut {
		o, e := a.ui.Screen(a.ui.Out), a.ui.Screen(a.ui.Err)
		return o, e, func() error { return errors.Join(o.Flush(), e.Flush()) }
	}
	mu := &sync.Mutex{}
	o, e := term.NewJSONStream(a.ui.Stdout(), mu, "stdout", ""), term.NewJSONStream(a.ui.Stdout(), mu, "stderr", "")
	return o, e, func() error {
		if err := o.Flush(); err != nil {
			return err
		}
		return e.Flush()
	}
}
