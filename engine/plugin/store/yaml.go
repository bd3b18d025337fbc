package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const maxYAML = 1 << 20

// document is a strict reading of a small YAML file. All mistakes are collected, each
// at file:line.
type document struct {
	file string
	errs []error
}

// root is the one mapping of a file, or nil where there is nothing or a mistake.
func (d *document) root(data []byte) (doc, root *yaml.Node) {
	if len(data) > maxYAML {
		d.at(1, "longer than %d KiB", maxYAML>>10)
		return nil, nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc, second := &yaml.Node{}, &yaml.Node{}
	switch err := decode(dec, doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		d.syntax(data, err)
		return nil, nil
	}
	if err := decode(dec, second); !errors.Is(err, io.EOF) {
		d.at(max(second.Line, 1), "there is a second YAML document; one is allowed")
		return nil, nil
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		d.at(doc.Content[0].Line, "not a mapping of keys to values")
		return nil, nil
	}
	return doc, doc.Content[0]
}

// decode turns a panic of the parser into an error: anybody may have written the file.
func decode(dec *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(into)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

var yamlAnchor = regexp.MustCompile(`^yaml: unknown anchor '([^']*)'`)

func (d *document) syntax(data []byte, err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
	}
	if m := yamlAnchor.FindStringSubmatch(err.Error()); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			line = 1 + bytes.Count(data[:at], []byte("\n"))
		}
	}
	d.at(max(line, 1), "not valid YAML: %s", text)
}

func (d *document) at(line int, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s:%d: %s", d.file, line, fmt.Sprintf(format, args...)))
}

func (d *document) err() error { return errors.Join(d.errs...) }

// fields are the values of a mapping by key. known = nil allows any key.
func (d *document) fields(n *yaml.Node, what string, known []string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			d.at(n.Line, "%s: not a mapping of keys to values", what)
		}
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			d.at(key.Line, "%s: a key must be a plain word", what)
		case out[key.Value] != nil:
			d.at(key.Line, "%s: the key %q is here twice; keep one", what, key.Value)
		case known != nil && !slices.Contains(known, key.Value):
			d.at(key.Line, "%s: %q is not a key that there is; there are %s", what, key.Value, strings.Join(known, ", "))
		default:
			out[key.Value] = n.Content[i+1]
		}
	}
	return out
}

// text is a plain value; "" where there is none.
func (d *document) text(n *yaml.Node, what string) string {
	switch {
	case n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return ""
	case n.Kind != yaml.ScalarNode:
		d.at(n.Line, "%s: not a plain value", what)
		return ""
	}
	return n.Value
}

// list is a sequence of plain values.
func (d *document) list(n *yaml.Node, what string) []string {
	if n == nil || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.at(n.Line, "%s: not a list; write [%s]", what, n.Value)
		return nil
	}
	var out []string
	for _, item := range n.Content {
		text := d.text(item, what)
		if text == "" {
			d.at(item.Line, "%s: an empty value", what)
		}
		out = append(out, text)
	}
	return out
}
