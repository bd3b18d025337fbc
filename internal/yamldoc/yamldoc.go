// Package yamldoc reads small YAML files strictly: it collects all mistakes, each at file:line.
package yamldoc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/spelling"
)

// MaxBytes bounds a document.
const MaxBytes = 1 << 20

// Mistake is what is wrong in a line.
type Mistake struct {
	File string
	Line int
	Text string
}

// Error says where and what.
func (m Mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Text) }

// Errors are all mistakes of a file.
type Errors []Mistake

// Error is one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, m := range e {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// Document collects the mistakes of one file.
type Document struct {
	File string // as errors name it
	errs Errors
}

// Root is the one mapping of a file and the document that it is in, or nil where the file is
// empty or wrong.
func (d *Document) Root(data []byte) (doc, root *yaml.Node) {
	if len(data) > MaxBytes {
		d.At(1, "longer than %d KiB", MaxBytes>>10)
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
		d.At(max(second.Line, 1), "there is a second YAML document; one is allowed")
		return nil, nil
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		d.At(doc.Content[0].Line, "not a mapping of keys to values")
		return nil, nil
	}
	return doc, doc.Content[0]
}

// NonEmptyRoot is the mapping of a file that must have one. write says what belongs into an empty
// file. It is nil after a mistake.
func (d *Document) NonEmptyRoot(data []byte, write string) *yaml.Node {
	_, root := d.Root(data)
	if root == nil && d.Err() == nil {
		d.At(1, "empty; write %s", write)
	}
	return root
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

var yamlLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

var yamlAnchor = lazyregexp.New(`^yaml: unknown anchor '([^']*)'`)

func (d *Document) syntax(data []byte, err error) {
	text, line := err.Error(), 1
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
	}
	if m := yamlAnchor().FindStringSubmatch(err.Error()); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			line = 1 + bytes.Count(data[:at], []byte("\n"))
		}
	}
	d.At(max(line, 1), "not valid YAML: %s", text)
}

// At adds a mistake.
func (d *Document) At(line int, format string, args ...any) {
	d.errs = append(d.errs, Mistake{d.File, line, fmt.Sprintf(format, args...)})
}

// Err is [Errors] in the order of the file, each mistake once; nil = none.
func (d *Document) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	all := slices.Clone(d.errs)
	slices.SortStableFunc(all, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return slices.Compact(all)
}

// Fields are the values of a mapping by key. A nil known allows any key; what names the mapping
// in mistakes.
func (d *Document) Fields(n *yaml.Node, what string, known []string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			d.At(n.Line, "%s: not a mapping of keys to values", what)
		}
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			d.At(key.Line, "%s: a key must be a plain word", what)
		case out[key.Value] != nil:
			d.At(key.Line, "%s: the key %q is here twice; keep one", what, key.Value)
		case known != nil && !slices.Contains(known, key.Value):
			d.At(key.Line, "%s: unknown key %q; %s", what, key.Value, Suggest(key.Value, known))
		default:
			out[key.Value] = n.Content[i+1]
		}
	}
	return out
}

// Text is a plain value; "" = none.
func (d *Document) Text(n *yaml.Node, what string) string {
	switch {
	case n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return ""
	case n.Kind != yaml.ScalarNode:
		d.At(n.Line, "%s: not a plain value", what)
		return ""
	}
	return n.Value
}

// List is a sequence of plain values.
func (d *Document) List(n *yaml.Node, what string) []string {
	if n == nil || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.At(n.Line, "%s: not a list; write [%s]", what, n.Value)
		return nil
	}
	var out []string
	for _, item := range n.Content {
		text := d.Text(item, what)
		if text == "" {
			d.At(item.Line, "%s: an empty value", what)
		}
		out = append(out, text)
	}
	return out
}

// Suggest names the word that was probably meant, or all.
func Suggest(key string, known []string) string {
	nearest, distance := "", 3
	for _, name := range known {
		if d := spelling.Distance(key, name); d < distance {
			nearest, distance = name, d
		}
	}
	if nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return "known are " + strings.Join(known, ", ")
}
