package redact

import (
	"bytes"
	"strings"
	"testing"
)

func redactInPieces(s *Redactor, text string, size int) string {
	var out bytes.Buffer
	w := s.Writer(&out)
	for len(text) > 0 {
		n := min(size, len(text))
		w.Write([]byte(text[:n]))
		text = text[n:]
	}
	w.Flush()
	return out.String()
}

func TestScrub(t *testing.T) {
	s := New(map[string]string{"A": "abcd", "LONG": "abcdef", "OVER": "efgh", "REP": "aaaa", "ESC": "q\"\\\nü"})
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
			if got := redactInPieces(s, in, size); got != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, got, want)
			}
		}
	}
}

func TestScrubHoldsBackNoMoreThanNeeded(t *testing.T) {
	var out bytes.Buffer
	w := New(map[string]string{"A": "secret"}).Writer(&out)
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
		if len(a) < MinLength || len(b) < MinLength || max(len(a), len(b)) > 100 || size < 1 || len(text) > 1000 {
			return
		}
		s := New(map[string]string{"A": a, "B": b})
		whole := string(s.Clean([]byte(text)))
		if pieces := redactInPieces(s, text, size); pieces != whole {
			t.Errorf("pieces %q, whole %q", pieces, whole)
		}
		if strings.Contains(text, a) && !strings.Contains(whole, "[secret ") {
			t.Errorf("%q came through in %q", a, whole)
		}
	})
}
