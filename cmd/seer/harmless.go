package main

import "github.com/seer-engine/seer/engine/sanitize"

// harmless is a text of a stranger's for a message.
func harmless(text string) string { return sanitize.Text(text) }

// oneLine is harmless for a cell of a table.
func oneLine(text string) string { return sanitize.Line(text) }

func harmlessRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, len(r))
		for j, cell := range r {
			out[i][j] = oneLine(cell)
		}
	}
	return out
}
