// Package modelload makes the Python that puts models into a kernel or an interpreter
// before an agent uses it, and that looks whether a hidden model's name can be found
// there.
package modelload

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed loader.py
var loader string

//go:embed look.py
var look string

// Model is what is to be loaded.
type Model struct {
	Variable     string // identifier; its tokenizer has the one below
	Tokenizer    string
	Path         string // in the sandbox
	DType        string // empty = auto
	Device       string // empty = auto
	Base         string // folder of the base model, of an adapter
	BlankAdapter bool
}

// Code defines the variables of a model. Nothing else stays in the namespace.
func Code(m Model) string {
	var b strings.Builder
	b.WriteString(loader)
	fmt.Fprintf(&b, "\n\n%s, %s = _seer_load(%s, dtype=%s, device=%s", m.Variable, m.Tokenizer,
		literal(m.Path), literal(orAuto(m.DType)), literal(orAuto(m.Device)))
	if m.Base != "" {
		fmt.Fprintf(&b, ", base=%s", literal(m.Base))
	}
	if m.BlankAdapter {
		b.WriteString(", blank_adapter=True")
	}
	b.WriteString(")\ndel _seer_load\n")
	return b.String()
}

// Look is code that prints a JSON object of texts that a user of the namespace can
// see, of these variables and in general. Nothing stays in the namespace.
func Look(variables []string) string {
	names, _ := json.Marshal(append([]string{}, variables...)) // a list of strings is the same in Python
	return look + "\n\n_seer_look(" + string(names) + ")\ndel _seer_look\n"
}

// literal is a text as Python reads it.
func literal(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

func orAuto(word string) string {
	if word == "" {
		return "auto"
	}
	return word
}
