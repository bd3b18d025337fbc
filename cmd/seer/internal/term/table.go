package term

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/seer-engine/seer/engine/sanitize"
)

// Column is a column of a table. Where the terminal is too narrow, the columns
// with the highest drop go first; 0 stays.
type Column struct {
	Title string
	Drop  int
}

// PrintTable prints rows for people. Programs use --json.
func PrintTable(w io.Writer, width int, columns []Column, rows [][]string) error {
	rows = sanitizedRows(rows)
	for width > 0 && tableWidth(columns, rows) > width {
		i := nextToDrop(columns)
		if i < 0 {
			break
		}
		columns = slices.Delete(slices.Clone(columns), i, i+1)
		rows = withoutColumn(rows, i)
	}
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	if width > 0 {
		t.Style().Size.WidthMax = width
	}
	t.AppendHeader(row(titles(columns)))
	for _, r := range rows {
		t.AppendRow(row(r))
	}
	_, err := io.WriteString(w, trimLines(t.Render())+"\n")
	return err
}

// plainStyle has no lines: columns are two spaces apart.
func plainStyle() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Box.UnfinishedRow = "…"
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format.Header = text.FormatUpper
	return s
}

func nextToDrop(columns []Column) int {
	at, most := -1, 0
	for i, c := range columns {
		if c.Drop > most {
			at, most = i, c.Drop
		}
	}
	return at
}

func withoutColumn(rows [][]string, i int) [][]string {
	out := make([][]string, len(rows))
	for n, r := range rows {
		out[n] = slices.Delete(slices.Clone(r), i, i+1)
	}
	return out
}

func tableWidth(columns []Column, rows [][]string) int {
	total := 0
	for i, c := range columns {
		most := text.StringWidth(c.Title)
		for _, r := range rows {
			most = max(most, text.StringWidth(r[i]))
		}
		total += most + 2
	}
	return total - 2
}

func titles(columns []Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Title
	}
	return out
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// sanitizedRows keeps orders to the terminal out of the cells.
func sanitizedRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, len(r))
		for j, cell := range r {
			out[i][j] = sanitize.Line(cell)
		}
	}
	return out
}
