package runtime

import (
	"bytes"
	"strings"
	"testing"
)

func scrubInPieces(s *scrubber, text string, size int) string {
	var out bytes.Buffer
	w := s.writer(&out)
	for len(text) > 0 {
		n := min(size, len(text))
		w.Write([]byte(text[:n]))
		text = text[n:]
	}
	w.flush()
	return out.String()
}

func TestScrub(t *testing.T) {
	s := newScrubber(map[string]string{"A": "abcd", "LONG": "abcdef", "OVER": "efgh", "REP": "aaaa", "ESC": "q\"\\\nü"})
	for in, want := range map[string]string{
		"":                           "",
		"nothing to see":             "nothing to see",
		"xabcdx":                     "x[secret A]x",
		"xabcdefx":                   "x[secret LONG]x",
		"abcdefgh":                   "[secret LONG]", // overlapping: nothing of either is left
		"abcabcd":                    "abc[secret A]",
		"aaaaaaa":                    "[secret REP]",
		"abc":                        "abc",
		"ab":                         "ab",
		`{"v":"q\"\\\nü"}`:           `{"v":"[secret ESC]"}`,
		`{"v":"q\"\\\n` + `\u00fc"}`: `{"v":"[secret ESC]"}`,
	} {
		for _, size := range []int{1, 2, 3, 5, 100} {
			if got := scrubInPieces(s, in, size); got != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, got, want)
			}
		}
	}
}

func TestScrubHoldsBackNoMoreThanNeeded(t *testing.T) {
	var out bytes.Buffer
	w := newScrubber(map[string]string{"A": "secret"}).writer(&out)
	w.Write([]byte("prompt> sec"))
	if out.String() != "prompt> " {
		t.Errorf("got %q", out.String())
	}
	w.Write([]byte("ond"))
	if out.String() != "prompt> second" {
		t.Errorf("got %q", out.String())
	}
}

// FuzzScrub checks that pieces change nothing, and that no secret comes through.
func FuzzScrub(f *testing.F) {
	f.Add("abcd", "bcde", "xxabcdexx", 3)
	f.Add("aaaa", "aaab", "aaaaaaaab", 1)
	f.Fuzz(func(t *testing.T, a, b, text string, size int) {
		if len(a) < minSecret || len(b) < minSecret || max(len(a), len(b)) > 100 || size < 1 || len(text) > 1000 {
			return
		}
		s := newScrubber(map[string]string{"A": a, "B": b})
		whole := string(s.clean([]byte(text)))
		if pieces := scrubInPieces(s, text, size); pieces != whole {
			t.Errorf("pieces %q, whole %q", pieces, whole)
		}
		if strings.Contains(text, a) && !strings.Contains(whole, "[secret ") {
			t.Errorf("%q came through in %q", a, whole)
		}
	})
}
