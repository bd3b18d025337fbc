package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What functions print, raise and are called comes from a sandbox, or from whoever may
// call there. A terminal must take none of it for an order: to write the clipboard,
// to type on its own, to hide what stands there.

// orders are control characters other than line breaks and tabs, and those that turn
// the direction of writing.
var orders = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// harmless shows what would be an order to a terminal as it is written in Go: \x1b.
func harmless(text string) string {
	return orders.ReplaceAllStringFunc(strings.ToValidUTF8(text, "\uFFFD"), func(s string) string {
		r, _ := utf8.DecodeRuneInString(s)
		if r < utf8.RuneSelf {
			return fmt.Sprintf(`\x%02x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// oneLine is harmless for a cell of a table.
func oneLine(text string) string {
	return harmless(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text))
}

func harmlessRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, len(r))
		for j, cell := range r {
			out[i][j] = oneLine(cell)
		}
	}
	return out
}

// harmlessJSON escapes what JSON itself may leave as it is.
func harmlessJSON(data []byte) []byte {
	return orders.ReplaceAllFunc(data, func(b []byte) []byte {
		r, _ := utf8.DecodeRune(b)
		return fmt.Appendf(nil, `\u%04x`, r)
	})
}

// Of what is printed, colours, progress bars and their cursors go through.
var (
	allowed = regexp.MustCompile(`^\x1b\[(?:[0-9;:]*m|[0-9]*[ABCDGKJ])`)
	begun   = regexp.MustCompile(`^\x1b(?:\[[0-9;:]*)?$`)
)

const longestOrder = 64

// harmlessWriter is a terminal on which a function prints.
type harmlessWriter struct {
	w    io.Writer
	held []byte // the beginning of an order, or of a character
}

func (h *harmlessWriter) Write(p []byte) (int, error) {
	data := append(h.held, p...)
	h.held = nil
	var out strings.Builder
	for len(data) > 0 {
		at := bytes.IndexByte(data, 0x1b)
		if at < 0 {
			at = wholeRunes(data)
			h.held = bytes.Clone(data[at:])
			data = data[:at]
		}
		out.WriteString(printed(data[:at]))
		if data = data[at:]; len(data) == 0 {
			break
		}
		if order := allowed.Find(data); order != nil {
			out.Write(order)
			data = data[len(order):]
		} else if len(data) < longestOrder && begun.Match(data) {
			h.held = bytes.Clone(data)
			break
		} else {
			out.WriteString(`\x1b`)
			data = data[1:]
		}
	}
	if _, err := io.WriteString(h.w, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// printed is a text without escapes; a carriage return and a backspace move no further
// than the line.
func printed(data []byte) string {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(string(data), "\r") {
		text, cr := strings.CutSuffix(line, "\r")
		out.WriteString(strings.ReplaceAll(harmless(text), `\x08`, "\b"))
		if cr {
			out.WriteByte('\r')
		}
	}
	return out.String()
}
