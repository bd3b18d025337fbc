package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/remedy"
)

// Error is one mistake in an experiment. Line and Column are 1-based; they are
// zero for a mistake that is not at a place in the file.
type Error struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Set     string `json:"set,omitempty"`  // the override it came from, the KEY of KEY=VALUE
	Path    string `json:"path,omitempty"` // the field as the user wrote it, dotted
	Message string `json:"message"`        // what is wrong
	Hint    string `json:"hint,omitempty"` // what to do

	Remedies []remedy.Remedy `json:"remedies,omitempty"` // the same for programs

	cause error
}

// Error says where, what and what to do in one line.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Set != "":
		b.WriteString("override " + e.Set + ": ")
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		b.WriteString(e.File + ": ")
	}
	if e.Path != "" && e.Path != e.Set {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Remedy implements [remedy.Carrier].
func (e *Error) Remedy() []remedy.Remedy { return e.Remedies }

// Unwrap is the error that led to it, of the operating system or of a backend,
// where there was one.
func (e *Error) Unwrap() error { return e.cause }

// Because is the same mistake with the error that led to it.
func (e *Error) Because(cause error) *Error {
	with := *e
	with.cause = cause
	return &with
}

// Errors is every mistake found, in the order of the file.
type Errors []*Error

// Error is one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each of them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Sort puts the mistakes in the order of the file; those of overrides come last.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(min(len(a.Set), 1), min(len(b.Set), 1)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
}

// orNil is e as an error, sorted; nil when there is none.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	e.Sort()
	return e
}

// Mistakes are those of an experiment that was read with [LoadOptions.Partial]. One that has
// any cannot be started.
func (e *Experiment) Mistakes() Errors { return e.mistakes }

// Renumbered reports whether the field at path is in a list of which an item was left out for
// a mistake: what is said of it would name the wrong item.
func (e *Experiment) Renumbered(path string) bool {
	return slices.ContainsFunc(e.shortened, func(list string) bool { return strings.HasPrefix(path, list+".") })
}
