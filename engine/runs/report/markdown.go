package report

import (
	"bytes"
	"html"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldmarktext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// markdown renders what an agent has written. It knows no links, images and HTML: these stay
// text.
func (s *source) markdown(written string, how style) template.HTML {
	if deep(written) {
		return asWritten(written)
	}
	w := &writer{source: s, style: how}
	tables := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	m := goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(citations{}, 200),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			),
		)),
		goldmark.WithExtensions(tables, extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(w, 100))),
	)
	var out bytes.Buffer
	if err := m.Convert([]byte(written), &out); err != nil {
		return asWritten(written)
	}
	return template.HTML(out.String()) //nolint:gosec // made from nodes that escape their texts
}

func asWritten(written string) template.HTML {
	return template.HTML(`<p class="written">` + html.EscapeString(written) + `</p>`) //nolint:gosec // escaped
}

// markers match a line that opens more quotes and lists than a page nests.
var markers = lazyregexp.New(`(?m)^(?:[ \t]*(?:>|[-+*]|[0-9]{1,9}[.)])){25}`)

// deep reports whether a text is shown as it is, because it nests too deeply.
func deep(written string) bool { return markers().MatchString(written) }

// citation is a reference to a call.
type citation struct {
	ast.BaseInline
	id string
}

var kindCitation = ast.NewNodeKind("Citation")

// Kind implements [ast.Node].
func (*citation) Kind() ast.NodeKind { return kindCitation }

// Dump implements [ast.Node].
func (c *citation) Dump(source []byte, level int) { ast.DumpHelper(c, source, level, nil, nil) }

// citations finds references to calls.
type citations struct{}

var cited = lazyregexp.New(`^\[call:([A-Za-z0-9_.-]{1,80})\]`)

// Trigger implements [parser.InlineParser].
func (citations) Trigger() []byte { return []byte{'['} }

// Parse implements [parser.InlineParser].
func (citations) Parse(_ ast.Node, block goldmarktext.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	found := cited().FindSubmatch(line)
	if found == nil {
		return nil
	}
	block.Advance(len(found[0]))
	return &citation{id: string(found[1])}
}

// writer writes the nodes that are other than usual.
type writer struct {
	source *source
	style
}

// style says how a text is rendered.
type style struct {
	marked bool // numbers are marked
	lines  bool // the ends of lines are seen: a message, not a file
}

// RegisterFuncs implements [renderer.NodeRenderer].
func (w *writer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindText, w.text)
	to.Register(ast.KindCodeSpan, w.code)
	to.Register(ast.KindHeading, w.heading)
	to.Register(kindCitation, w.citation)
}

func (w *writer) citation(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	c := n.(*citation) //nolint:forcetypeassert // registered for this kind
	if !entering {
		return ast.WalkContinue, nil
	}
	if to := w.source.byID[c.id]; to != nil {
		_, _ = out.WriteString(`<a class="cite" href="#` + to.Anchor + `">call:` + html.EscapeString(c.id) + `</a>`)
	} else {
		_, _ = out.WriteString("[call:" + html.EscapeString(c.id) + "]")
	}
	return ast.WalkContinue, nil
}

// heading keeps the headings of texts below those of the page, and gives them no names.
func (w *writer) heading(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := string(rune('0' + min(n.(*ast.Heading).Level+3, 6))) //nolint:forcetypeassert // registered for this kind
	if entering {
		_, _ = out.WriteString("<h" + level + ">")
	} else {
		_, _ = out.WriteString("</h" + level + ">\n")
	}
	return ast.WalkContinue, nil
}

func (w *writer) text(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	t := n.(*ast.Text) //nolint:forcetypeassert // registered for this kind
	value := util.UnescapePunctuations(t.Segment.Value(source))
	w.write(out, sanitize.Text(html.UnescapeString(string(value)))) // an entity can be a hidden character
	switch {
	case t.HardLineBreak(), t.SoftLineBreak() && w.lines:
		_, _ = out.WriteString("<br>\n")
	case t.SoftLineBreak():
		_ = out.WriteByte('\n')
	}
	return ast.WalkContinue, nil
}

func (w *writer) code(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var code []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, bytes.ReplaceAll(t.Segment.Value(source), []byte("\n"), []byte(" "))...)
		}
	}
	_, _ = out.WriteString("<code>")
	w.write(out, string(code))
	_, _ = out.WriteString("</code>")
	return ast.WalkSkipChildren, nil
}

// write writes a text, with the calls whose results its numbers are.
func (w *writer) write(out util.BufWriter, s string) {
	done := 0
	if w.marked {
		for _, at := range numbers(s) {
			c := w.source.scalars.find(s[at[0]:at[1]])
			if c == nil {
				continue
			}
			_, _ = out.WriteString(html.EscapeString(s[done:at[0]]) + "<mark>" + html.EscapeString(s[at[0]:at[1]]) +
				`</mark><a class="match" href="#` + c.Anchor + `">matches call ` + html.EscapeString(line(c.ID, 24)) + "</a>")
			done = at[1]
		}
	}
	_, _ = out.WriteString(html.EscapeString(s[done:]))
}
