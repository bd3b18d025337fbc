package term

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestPlain(t *testing.T) {
	testkit.WantEach(t, plainLine, map[string]string{
		"a \x1b[1;32mgreen\x1b[0m line":                   "a green line",
		"\x1b]0;title\x07text":                            "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":        "link",
		"\x1b[2K\x1b[1G 10%|█ |\r\x1b[K 90%|█████|\r\n":   " 90%|█████|",
		"tab\there\a\b":                                   "tab here",
		"not \xff text":                                   "not \uFFFD text",
		"\u202eturned":                                    "turned",
		"\x9b31mC1 is not a text here":                    "\uFFFD31mC1 is not a text here",
		"begun \x1b[":                                     "begun",
		"Downloading torch-2.9-cp314.whl (821.0 MB)":      "Downloading torch-2.9-cp314.whl (821.0 MB)",
		"  indented":                                      "  indented",
		"❤\ufe0f":                                         "❤",
		"\x1b(B\x1b7saved\x1b8":                           "saved",
		"a\nb":                                            "a b",
		"\x1b]0;a title without an end, and what follows": "",
	})
}

func TestLiveLine(t *testing.T) {
	for _, c := range []struct {
		step, detail string
		took         time.Duration
		columns      int
		want         string
	}{
		{"boot: installing 2 packages", "", 0, 60, "boot: installing 2 packages"},
		{"boot: installing 2 packages", "", 90 * time.Second, 60, "boot: installing 2 packages (90 s)"},
		{"boot: installing", "Collecting numpy", 2 * time.Second, 60, "boot: installing (2 s) · Collecting numpy"},
		{"boot: building the layer; it is kept, and so on", "Collecting numpy", 2 * time.Second, 60, "boot: building the layer (2 s) · Collecting numpy"},
		{"boot: building the layer", "Collecting something long", 2 * time.Second, 30, "boot: bu… (2 s) · Collecting …"},
		{"boot: 漢字漢字漢字", "", 2 * time.Second, 18, "boot: 漢字… (2 s)"},
		{"boot: installing", "x", time.Second, 5, " (1 …"},
		{"boot", "x", 0, 0, ""},
		{"boot", "x", 0, -2, ""},
	} {
		if got := liveLine(c.step, c.detail, c.took, c.columns); got != c.want {
			t.Errorf("%d columns: %q, not %q", c.columns, got, c.want)
		}
	}
}

// FuzzLiveLine: whatever somebody prints, it gives a terminal no orders and stays in its
// line.
func FuzzLiveLine(f *testing.F) {
	f.Add("boot: a", "\x1b[31mred\x1b[0m 漢字 e\u0301 👩\u200d👩\u200d👧 \r 90%", 40, 2)
	f.Add("\x1b]0;x", "\xff\x9b2J\u009b2J", 3, 0)
	f.Fuzz(func(t *testing.T, step, detail string, columns, seconds int) {
		got := liveLine(plainLine(step), plainLine(detail), time.Duration(seconds)*time.Second, columns%300)
		if n := width(got); n > max(columns%300, 0) || !utf8.ValidString(got) || sanitize.Text(got) != got || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%d columns of %d: %q", n, columns%300, got)
		}
	})
}
