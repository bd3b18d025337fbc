package reply

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheMiddleIsCutAndSaid(t *testing.T) {
	if got := CutMiddle("short", 5, "w"); got != "short" {
		t.Errorf("got %q", got)
	}
	got := CutMiddle(strings.Repeat("é", 50), 21, "the whole is elsewhere")
	if !utf8.ValidString(got) || !strings.Contains(got, "[cut by Seer: 80 bytes left out; the whole is elsewhere]") {
		t.Errorf("got %q", got)
	}
}
