package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünï and 日本\n\ttext": "plain, ünï and 日本\n\ttext",
		"\x1b]52;c;aGk=\x07":        `\x1b]52;c;aGk=\x07`,
		"a\rb\x00\x7f":              `a\x0db\x00\x7f`,
		"\u009b31m\u202etxt":        `\u009b31m\u202etxt`,
		"half \xff":                 "half \uFFFD",
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
	if got := oneLine("a\nb\tc"); got != `a\nb\tc` {
		t.Errorf("a cell has %q", got)
	}
	if got := harmlessJSON([]byte("[\n  \"\u009b2J\x7f\"\n]")); string(got) != "[\n  \"\\u009b2J\\u007f\"\n]" {
		t.Errorf("JSON became %s", got)
	}
}

// However the text is split, what comes out is the same, and orders do not.
func TestHarmlessWriter(t *testing.T) {
	const text = "50%|\u2588\u2588  | 1/2\r\x1b[A\x1b[32;1mgreen\x1b[0m\x1b[K\b done\n" +
		"\x1b]0;title\x07 \x1b]52;c;aGk=\x1b\\ \x1bP+q\x1b\\ \x1b[6n \x1b[?1049h \x1bc \u009b2J é\x00\n\x1b"
	const want = "50%|\u2588\u2588  | 1/2\r\x1b[A\x1b[32;1mgreen\x1b[0m\x1b[K\b done\n" +
		`\x1b]0;title\x07 \x1b]52;c;aGk=\x1b\ \x1bP+q\x1b\ \x1b[6n \x1b[?1049h \x1bc \u009b2J é\x00` + "\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := &harmlessWriter{w: &out}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Fatalf("in pieces of %d: %q", size, out.String())
		}
	}
}

func TestTablesGiveNoOrders(t *testing.T) {
	var out bytes.Buffer
	if err := printTable(&out, 0, []column{{"CALL", 0}, {"FUNCTION", 0}}, [][]string{{"a-1", "tools.\x1b]0;x\x07\n\u202e"}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\u202e") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%q", out.String())
	}
}
