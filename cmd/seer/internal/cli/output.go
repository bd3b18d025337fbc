package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/sanitize"
)

// PrintJSON prints one value on one line of stdout.
func (a *App) PrintJSON(v any) error { return term.WriteJSON(a.UI.Stdout(), v) }

// Print prints v under --json, and what text writes otherwise.
func (a *App) Print(v any, text func(w io.Writer) error) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	return text(a.UI.Stdout())
}

// Document prints a JSON document as it is written, under --json on one line.
func (a *App) Document(text []byte) error {
	return a.Print(json.RawMessage(text), func(w io.Writer) error {
		_, err := w.Write(sanitize.JSON(text))
		return err
	})
}

// Println prints a line of a result.
func (a *App) Println(args ...any) error {
	_, err := fmt.Fprintln(a.UI.Stdout(), args...)
	return err
}

// Streams are where the output of a command goes: to the terminal, straight to a pipe or a
// file, or as JSON lines on stdout. end flushes them.
func (a *App) Streams() (stdout, stderr io.Writer, end func() error) {
	if !a.JSON {
		o, e := a.UI.Screen(a.UI.Out), a.UI.Screen(a.UI.Err)
		return o, e, func() error { return errors.Join(o.Flush(), e.Flush()) }
	}
	mu := &sync.Mutex{}
	o, e := term.NewJSONStream(a.UI.Stdout(), mu, "stdout", ""), term.NewJSONStream(a.UI.Stdout(), mu, "stderr", "")
	return o, e, func() error {
		if err := o.Flush(); err != nil {
			return err
		}
		return e.Flush()
	}
}
