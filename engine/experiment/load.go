package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// LoadOptions changes how a file is read.
type LoadOptions struct {
	// Set overrides fields: sandbox.timeout=2h, serve.0.name=tools. The value is
	// YAML; an empty one unsets the field.
	Set []string
	// Partial also gives an experiment with mistakes, without what is wrong; see
	// [Experiment.Mistakes]. It serves only to look for more of them.
	Partial bool
}

// Load reads the experiment file at path. Every mistake in it is reported at
// once: the error is [Errors].
func Load(ctx context.Context, path string, opts LoadOptions) (*Experiment, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(text, path, opts)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, Errors{{File: path, Message: "this is a folder", Hint: "name the experiment file in it"}}
	}
	var text []byte
	if err == nil {
		text, err = readSome(path)
	}
	switch {
	case err == nil:
		return text, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, Errors{{File: path, Message: "there is no such file", Hint: "write it, or start from a template", Remedies: initialize(), cause: err}}
	case errors.Is(err, fs.ErrPermission):
		return nil, Errors{{File: path, Message: "the file may not be read", Hint: "check its permissions", cause: err}}
	default:
		return nil, Errors{{File: path, Message: "the file cannot be read: " + err.Error(), cause: err}}
	}
}

// readSome reads a little more than is allowed, so that the parser can refuse
// what is too large: the path may be a pipe, or something without an end.
func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse is [Load] for a text that is already there. Relative paths are taken
// from the folder of filename. It looks at nothing outside its arguments but
// the working directory, where filename is relative, and agent.prompt_file.
func Parse(text []byte, filename string, opts LoadOptions) (*Experiment, error) {
	abs, err := filepath.Abs(filename)
	if err != nil {
		return nil, Errors{{File: filename, Message: "the path cannot be made absolute: " + err.Error(), cause: err}}
	}
	exp, errs := parse(text, abs, opts.Set)
	for _, e := range errs {
		if e.Set == "" {
			// YAML knows line breaks that editors do not count.
			e.File, e.Line = filename, min(max(e.Line, 1), countLines(text))
		}
	}
	err = errs.orNil()
	if exp == nil || err != nil && !opts.Partial {
		return nil, err
	}
	exp.shown, exp.mistakes = filename, errs
	return exp, nil
}

// parse goes from text to experiment. Values that do not fit the table are
// left out after they were reported, so that the rest is checked as well.
func parse(text []byte, abs string, set []string) (*Experiment, Errors) {
	s := readSource(text, "", "")
	if len(s.errs) == 0 {
		if _, ok := s.root.(map[string]any); !ok {
			s.fail(1, 1, "expected a mapping at the top, got "+describe(s.root), "write key: value lines")
		}
	}
	if _, ok := s.root.(map[string]any); !ok {
		return nil, s.errs
	}
	s.unstage()
	l := newLayers(s)
	for _, assignment := range set {
		l.override(assignment)
	}
	c := &checker{marks: l.marks, errs: l.errs}
	values := c.mapping("", l.config.Raw(), Fields())
	in, err := decodeInput(values)
	if err != nil {
		return nil, append(c.errs, &Error{Message: err.Error()})
	}
	exp := in.experiment()
	exp.File, exp.marks, exp.values, exp.shortened = abs, c.marks, values, c.shortened
	exp.fill(filepath.Dir(abs))
	found := append(exp.check(), exp.readPrompt()...)
	return exp, append(c.errs, withoutRepeats(found, c.errs)...)
}

// readPrompt takes the task from its file.
func (e *Experiment) readPrompt() Errors {
	if e.Agent == nil || e.Agent.PromptFile == "" {
		return nil
	}
	wrong := func(message, hint string) Errors {
		return Errors{e.Errorf("agent.prompt_file", quote(e.Agent.PromptFile)+" "+message, hint)}
	}
	info, err := os.Stat(e.Agent.PromptFile)
	var text []byte
	if err == nil && info.Mode().IsRegular() {
		text, err = readSome(e.Agent.PromptFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wrong("is not there", "relative paths are taken from the folder of the experiment file")
	case err != nil:
		return wrong("cannot be read: "+err.Error(), "")
	case !info.Mode().IsRegular():
		return wrong("is not a file", "name a text file")
	case len(text) > maxBytes:
		return wrong(fmt.Sprintf("is larger than %d KiB", maxBytes>>10), "list it under workspace.files, and name it in the prompt")
	case !utf8.Valid(text):
		return wrong("is not UTF-8 text", "save it as UTF-8")
	}
	e.Agent.Prompt = strings.TrimSuffix(string(text), "\n")
	return nil
}

// withoutRepeats drops what was said about the same field already: a value of
// the wrong type is missing later on.
func withoutRepeats(found, said Errors) Errors {
	told := map[string]bool{}
	for _, e := range said {
		told[e.Path] = true
	}
	var fresh Errors
	for _, e := range found {
		if !told[e.Path] {
			fresh = append(fresh, e)
		}
	}
	return fresh
}
