package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/remedy"
)

const (
	maxBytes  = 1 << 20 // of an experiment file
	maxValues = 10_000  // after aliases are expanded, so that no small file grows huge
	maxDepth  = 50
)

// scalar is a single YAML value as it was written. Its fields are exported
// because koanf copies values by reflection.
type scalar struct{ Tag, Text string }

func (s scalar) null() bool { return s.Tag == "!!null" }

// source is a YAML text turned into mappings (map[string]any), lists ([]any)
// and scalars, with the place of each value.
type source struct {
	root   any
	marks  marks
	errs   Errors
	values int
}

// readSource parses text. set is empty for a file, or the key of an override.
func readSource(text []byte, set string, path string) *source {
	s := &source{marks: marks{}}
	node := s.document(text)
	if node != nil {
		s.root = s.value(node, path, 0)
	}
	if set != "" {
		s.markAll(path, set)
	}
	return s
}

// document is the one document of text, or nil after an error.
func (s *source) document(text []byte) *yaml.Node {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if len(text) > maxBytes {
		return s.fail(1, 1, fmt.Sprintf("the file is larger than %d KiB", maxBytes>>10), "an experiment file is a few lines of YAML")
	}
	if at := invalidUTF8(text); at >= 0 {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		return s.fail(line, 1, "the file is not UTF-8 text", "save it as UTF-8")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := decode(decoder, &doc); {
	case errors.Is(err, io.EOF):
		return s.empty()
	case err != nil:
		return s.failYAML(text, err)
	}
	switch err := decode(decoder, &second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return s.failYAML(text, err)
	default:
		return s.fail(max(second.Line, 1), 1, "the file holds more than one YAML document", "put each experiment into a file of its own")
	}
	if len(doc.Content) != 1 {
		return s.empty()
	}
	return doc.Content[0]
}

func (s *source) empty() *yaml.Node {
	s.errs = append(s.errs, &Error{Line: 1, Column: 1, Message: "the file is empty", Hint: "write it, or start from a template", Remedies: initialize()})
	return nil
}

func initialize() []remedy.Remedy { return []remedy.Remedy{{Action: remedy.InitExperiment}} }

// decode turns a panic of the YAML parser into an error: its input is a file
// that anybody may have written.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return d.Decode(into)
}

// value turns a node into plain values and notes where they stand.
func (s *source) value(n *yaml.Node, path string, depth int) any {
	s.values++
	if s.values > maxValues || depth > maxDepth {
		if s.values != maxValues+2 { // once: an alias bomb meets this at every level
			s.fail(n.Line, n.Column, "the file is too deeply nested or its aliases expand to too much", "write the values out")
			s.values = maxValues + 1
		}
		return scalar{Tag: "!!null"}
	}
	if _, ok := s.marks[path]; !ok {
		s.marks[path] = mark{line: n.Line, column: n.Column}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return s.value(n.Alias, path, depth+1)
	case yaml.MappingNode:
		return s.mapping(n, path, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			list = append(list, s.value(item, join(path, strconv.Itoa(i)), depth+1))
		}
		return list
	default:
		return s.scalar(n, path)
	}
}

func (s *source) mapping(n *yaml.Node, path string, depth int) any {
	out := map[string]any{}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			s.failAt(key, path, "a key must be a plain word", "")
			continue
		}
		at := join(path, key.Value)
		if first, again := lines[key.Value]; again {
			s.failAt(key, path, fmt.Sprintf("the key %s is here twice, first on line %d", quote(key.Value), first), "keep one of them")
			continue
		}
		lines[key.Value] = key.Line
		s.marks[at] = mark{line: key.Line, column: key.Column}
		out[key.Value] = s.value(val, at, depth+1)
	}
	s.merge(n, out, path, depth)
	return out
}

// merge adds what YAML's << brings; a key of the mapping itself wins.
func (s *source) merge(n *yaml.Node, out map[string]any, path string, depth int) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!merge" {
			continue
		}
		parts := []*yaml.Node{val}
		if val.Kind == yaml.SequenceNode {
			parts = val.Content
		}
		for _, part := range parts {
			s.mergeOne(part, key, out, path, depth)
		}
	}
}

func (s *source) mergeOne(part, key *yaml.Node, out map[string]any, path string, depth int) {
	inner := &source{marks: marks{}, values: s.values}
	got := inner.value(part, path, depth+1)
	s.values = inner.values
	s.errs = append(s.errs, inner.errs...)
	from, ok := got.(map[string]any)
	if !ok {
		s.failAt(key, path, "<< needs a mapping", "write the values out")
		return
	}
	for k, v := range from {
		if _, own := out[k]; !own {
			out[k] = v
		}
	}
	for at, m := range inner.marks {
		if _, own := s.marks[at]; !own {
			s.marks[at] = m
		}
	}
}

func (s *source) scalar(n *yaml.Node, path string) any {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		return scalar{Tag: tag, Text: n.Value}
	default:
		s.failAt(n, path, fmt.Sprintf("the YAML tag %s is not understood", quote(tag)), "leave the tag out")
		return scalar{Tag: "!!null"}
	}
}

func (s *source) markAll(path, set string) {
	for at, m := range s.marks {
		m.line, m.column, m.set = 0, 0, set
		s.marks[at] = m
	}
	for _, e := range s.errs {
		e.Line, e.Column, e.Set, e.Path = 0, 0, set, ""
	}
	if _, ok := s.marks[path]; !ok {
		s.marks[path] = mark{set: set}
	}
}

func (s *source) failAt(n *yaml.Node, path, message, hint string) {
	s.errs = append(s.errs, &Error{Line: n.Line, Column: n.Column, Path: path, Message: message, Hint: hint})
}

func (s *source) fail(line, column int, message, hint string) *yaml.Node {
	s.errs = append(s.errs, &Error{Line: line, Column: column, Message: message, Hint: hint})
	return nil
}

func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return -1
}
