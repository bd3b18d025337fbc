// Package termtest has terminals for tests of what Seer shows on one.
package termtest

import "strings"

const (
	// Frames are the characters of the live line in a Unicode locale.
	Frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	// Erase is written before each state of the live line.
	Erase = "\r\x1b[J"
)

// Visible plays what was written to a terminal: carriage return and erasing only.
func Visible(text string) []string {
	var lines []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i := strings.LastIndex(line, Erase); i >= 0 {
			line = line[i+len(Erase):]
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
