package experiment

import "strings"

// Position is where a field was written.
type Position struct {
	File   string // as the user named it; empty when the experiment was built in code
	Line   int    // 1-based; 0 = not in the file
	Column int
	Set    string // the key of the override that gave the value
	Path   string // the field as the user wrote it (the staged form has other names)
}

// mark is the place of one value, and what the user called it.
type mark struct {
	line, column int
	set          string
	name         string // "" = the same as the path
}

// marks maps dotted paths of the canonical form to places.
type marks map[string]mark

// find is the place of path, or of the nearest thing around it.
func (m marks) find(path string) (mark, string) {
	rest := ""
	for at := path; ; {
		if found, ok := m[at]; ok {
			name := at
			if found.name != "" {
				name = found.name
			}
			return found, strings.TrimPrefix(name+rest, ".")
		}
		cut := strings.LastIndexByte(at, '.')
		if cut < 0 {
			if at == "" {
				return mark{}, path
			}
			at, rest = "", "."+path
			continue
		}
		at, rest = at[:cut], path[cut:]
	}
}

// Position says where the field at a dotted path such as sandbox.models.0 was written; if the
// field is missing, the place of its parent.
func (e *Experiment) Position(path string) Position {
	m, name := e.marks.find(path)
	return Position{File: e.shown, Line: m.line, Column: m.column, Set: m.set, Path: name}
}

// Given reports whether the user wrote the field at a dotted path, in the file or as an
// override. Every field of an experiment that was built in code counts as written.
func (e *Experiment) Given(path string) bool {
	_, given := e.marks[path]
	return given || e.marks == nil
}

// Errorf makes an [Error] about the field at path, with its position.
func (e *Experiment) Errorf(path, message, hint string) *Error {
	p := e.Position(path)
	return &Error{File: p.File, Line: p.Line, Column: p.Column, Set: p.Set, Path: p.Path, Message: message, Hint: hint}
}

// join appends a key to a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
