package notebook

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText is HTML as text: tables with a column for each of theirs, other blocks on
// lines of their own, no scripts and styles.
func htmlText(source string) string {
	const most = 1 << 20
	cut := len(source) > most
	if cut {
		source = source[:most]
	}
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return source
	}
	var w htmlWriter
	w.walk(root, 0)
	text := strings.TrimRight(strings.TrimLeft(w.out.String(), "\n"), " \n")
	if cut {
		text += "\n[the rest of the HTML is left out]"
	}
	return text
}

// maxDepth is how deep elements are looked into.
const maxDepth = 200

type htmlWriter struct {
	out   strings.Builder
	space bool // one is due before the next word
	fresh bool // nothing is on the line yet
}

func (w *htmlWriter) walk(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	switch {
	case n.Type == html.TextNode:
		w.words(n.Data)
		return
	case n.Type == html.ElementNode && w.special(n):
		return
	}
	block := n.Type == html.ElementNode && isBlock(n.DataAtom)
	if block {
		w.line()
	}
	if n.DataAtom == atom.Li {
		w.words("- ")
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walk(c, depth+1)
	}
	if block {
		w.line()
	}
}

// special writes the elements that are not written as what is in them.
func (w *htmlWriter) special(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Head, atom.Template:
	case atom.Br:
		w.out.WriteByte('\n')
		w.space, w.fresh = false, true
	case atom.Table:
		w.line()
		w.out.WriteString(table(n))
		w.fresh = true
	case atom.Pre:
		w.line()
		w.out.WriteString(rawText(n))
		w.fresh = false
		w.line()
	case atom.Img:
		if alt := attribute(n, "alt"); alt != "" {
			w.words(" [image: " + alt + "] ")
		}
	default:
		return false
	}
	return true
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Section, atom.Article,
		atom.Header, atom.Footer, atom.Blockquote, atom.Dl, atom.Dt, atom.Dd, atom.Figure, atom.Hr, atom.Form, atom.Details, atom.Summary, atom.Tr, atom.Caption:
		return true
	}
	return false
}

// words writes text with its white space made single.
func (w *htmlWriter) words(text string) {
	for i, word := range strings.Fields(text) {
		if i > 0 || strings.TrimLeft(text, " \t\r\n") != text {
			w.space = true
		}
		if w.space && !w.fresh && w.out.Len() > 0 {
			w.out.WriteByte(' ')
		}
		w.out.WriteString(word)
		w.space, w.fresh = false, false
	}
	if text != "" && strings.TrimRight(text, " \t\r\n") != text {
		w.space = true
	}
}

func (w *htmlWriter) line() {
	w.space = false
	if !w.fresh && w.out.Len() > 0 {
		w.out.WriteByte('\n')
		w.fresh = true
	}
}

func rawText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
