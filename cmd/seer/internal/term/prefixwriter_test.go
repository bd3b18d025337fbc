package term

import (
	"strings"
	"testing"
)

func TestPrefixWriter(t *testing.T) {
	var out strings.Builder
	l := NewPrefixWriter(&out, "simulator: ")
	for _, piece := range []string{"one\ntw", "o\x1b[2J\r\n", "\n", "rest"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 {
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "simulator: one\nsimulator: two\nsimulator: \nsimulator: rest\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	if _, err := l.Write([]byte(strings.Repeat("x", 3*longestLine) + "\n")); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if len(line) > longestLine+len(l.prefix) || !strings.HasPrefix(line, l.prefix) {
			t.Errorf("line %d has %d bytes and begins with %.20q", i, len(line), line)
		}
	}
}
