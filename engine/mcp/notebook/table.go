package notebook

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of a table that is written as text.
const (
	maxRows    = 1000
	maxColumns = 100
	maxWidth   = 60 // of a column that is padded, in characters
)

// table writes a table with aligned columns. Tables in its cells are words.
func table(n *html.Node) string {
	rows, omitted := tableRows(n)
	widths := make([]int, maxColumns)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = min(max(widths[i], utf8.RuneCountInString(cell)), maxWidth)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if omitted > 0 {
		b.WriteString("[" + strconv.Itoa(omitted) + " more rows]\n")
	}
	return b.String()
}

func tableRows(n *html.Node) (rows [][]string, omitted int) {
	var visit func(*html.Node, int)
	visit = func(n *html.Node, depth int) {
		for c := n.FirstChild; c != nil && depth < maxDepth; c = c.NextSibling {
			switch {
			case c.DataAtom == atom.Tr && len(rows) >= maxRows:
				omitted++
			case c.DataAtom == atom.Tr:
				rows = append(rows, tableRow(c))
			case c.DataAtom == atom.Caption:
				rows = append(rows, []string{cellText(c)})
			case c.Type == html.ElementNode:
				visit(c, depth+1)
			}
		}
	}
	visit(n, 0)
	return rows, omitted
}

func tableRow(tr *html.Node) []string {
	var row []string
	for c := tr.FirstChild; c != nil && len(row) < maxColumns; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		row = append(row, cellText(c))
		span, err := strconv.Atoi(attribute(c, "colspan"))
		for ; err == nil && span > 1 && len(row) < maxColumns; span-- {
			row = append(row, "")
		}
	}
	return row
}

func cellText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode && d.Parent.DataAtom != atom.Script && d.Parent.DataAtom != atom.Style:
			b.WriteString(d.Data)
		case d.DataAtom == atom.Br, d.DataAtom == atom.Td, d.DataAtom == atom.Th:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
