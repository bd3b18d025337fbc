package spelling_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/spelling"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"timeout", "timeout", 0}, {"timeot", "timeout", 1}, {"modles", "models", 1},
		{"imeout", "timeout", 1}, {"tymeout", "timeout", 1}, {"kitten", "sitting", 3}, {strings.Repeat("a", 65), "a", 65},
	} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, not %d", c.a, c.b, got, c.want)
		}
		if back := spelling.Distance(c.b, c.a); len(c.a) <= 64 && back != c.want {
			t.Errorf("%q, %q: %d, not %d", c.b, c.a, back, c.want)
		}
	}
}
