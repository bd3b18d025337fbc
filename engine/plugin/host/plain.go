package host

import "github.com/seer-engine/seer/engine/sanitize"

// oneLine makes of a plugin's text what may be shown. A line break would begin a line
// that seems to be somebody else's, a terminal obeys control characters, and marks of
// direction and letters that nobody sees make a text look like another one.
func oneLine(text string) string { return sanitize.Flat(text) }

func oneLineEach(texts []string) {
	for i := range texts {
		texts[i] = oneLine(texts[i])
	}
}

// Limits of what an engine keeps of a machine, in its ledger.
const (
	maxHandle = 4 << 10
	maxCursor = 64 << 10
)

// Limits of what a check or a cleaning answers, which people read.
const (
	maxFindings = 200
	maxCleaned  = 10_000
	maxText     = 4 << 10
)

// plainHandle reports whether a handle can be kept, compared and shown.
func plainHandle(handle string) bool {
	return len(handle) <= maxHandle && oneLine(handle) == handle
}
