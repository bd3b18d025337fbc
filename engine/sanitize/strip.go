package sanitize

import (
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// sequences are what ECMA-48 has: control sequences, strings with their end (titles,
// links, the clipboard), and short escapes. A string without an end goes to the end of
// its line.
var sequences = lazyregexp.New(
	`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n\x{9c}]*(?:\x07|\x1b\\|\x{9c})?|[ -/]*[0-~])?` +
		`|\x{9b}[0-?]*[ -/]*[@-~]|[\x{90}\x{98}\x{9d}-\x{9f}][^\x07\x1b\n\x{9c}]*(?:\x07|\x1b\\|\x{9c})?`)

// Strip leaves out what is for a terminal and not for reading: colours, movements of the
// cursor, titles and hidden characters. Line breaks, tabs and carriage returns stay.
func Strip(text string) string {
	const keep = "\n\t\r"
	if plainLength(text, keep) == len(text) {
		return text
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.ContainsAny(text, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		text = sequences().ReplaceAllString(text, "")
	}
	return whole(text, keep, leaveOut)
}
