package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/seer-engine/seer/engine/sanitize"
)

// plainLine is a line as it stands there when all of it has been written: without orders to
// the terminal, and of what was written over only the last.
func plainLine(line string) string {
	line = strings.TrimRight(sanitize.Strip(line), "\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	line = strings.NewReplacer("\t", " ", "\n", " ", "\ufe0f", "").Replace(line) // U+FE0F makes some signs wider
	return strings.TrimRight(line, " ")
}

// liveLine is what a step looks like in so many columns: the step, how long it has taken
// and the detail. Where not all of it has room, the detail gets half.
func liveLine(step, detail string, took time.Duration, columns int) string {
	since := ""
	if took >= time.Second {
		since = fmt.Sprintf(" (%d s)", int(took.Seconds()))
	}
	if detail = strings.TrimSpace(detail); detail == "" {
		return truncate(truncate(step, columns-len(since))+since, columns)
	}
	detail = " · " + detail
	if width(step+since+detail) > columns {
		step = shortStep(step, columns/2-len(since))
	}
	return truncate(step+since+detail, columns)
}

// width is how many columns of a terminal a text has.
func width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// shortStep makes room for a detail: a step says the most important first.
func shortStep(step string, columns int) string {
	if width(step) > columns {
		step, _, _ = strings.Cut(step, "; ")
	}
	return truncate(step, columns)
}

// truncate shortens a line to so many columns of the terminal.
func truncate(line string, columns int) string {
	if width(line) <= columns {
		return line
	}
	if columns <= 0 {
		return ""
	}
	return text.Trim(line, columns-1) + "…"
}
