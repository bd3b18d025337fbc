package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/sanitize"
)

// text is a text on the page, cut to what fits.
type text struct {
	Text string
	Note string // says where the whole is; empty = this is it
}

// plain is what a reader is to see of a text: without what moves a cursor, reverses the direction
// or hides. More than limit bytes lose their middle.
func plain(whole string, limit int, where string) text {
	if len(whole) <= limit {
		return text{Text: visible(whole)}
	}
	head := valid(whole[:limit*3/4])
	tail := strings.ToValidUTF8(whole[len(whole)-limit/4:], "")
	return text{visible(head) + "\n[…]\n" + visible(tail), note(len(head)+len(tail), len(whole), where)}
}

// start is plain for a text whose end is left out: Markdown begins anew behind a gap.
func start(whole string, limit int, where string) text {
	if len(whole) <= limit {
		return text{Text: shown(whole)}
	}
	head := valid(whole[:limit])
	return text{shown(head) + "\n\n[…]", note(len(head), len(whole), where)}
}

func note(here, whole int, where string) string {
	return fmt.Sprintf("Cut: %d of %d bytes are here; the whole is in %s.", here, whole, where)
}

// valid drops a character that is cut.
func valid(cut string) string {
	for i := 0; i < utf8.UTFMax && i < len(cut); i++ {
		if r, size := utf8.DecodeLastRuneInString(cut); r != utf8.RuneError || size > 1 {
			break
		}
		cut = cut[:len(cut)-1]
	}
	return cut
}

// visible is for what programs have printed: colours and cursor movements go.
func visible(s string) string {
	return shown(sanitize.Strip(s))
}

// shown is for what agents have written: hidden characters are seen as escapes.
func shown(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return sanitize.Text(strings.ReplaceAll(s, "\r", "\n"))
}

// line is for one line of a table, cut.
func line(s string, limit int) string {
	s = sanitize.Line(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= limit {
		return s
	}
	return valid(s[:limit]) + "…"
}
